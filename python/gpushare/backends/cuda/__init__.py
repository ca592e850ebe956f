# SPDX-License-Identifier: Apache-2.0
"""Runs on a real GPU."""
