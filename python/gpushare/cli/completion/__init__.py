# SPDX-License-Identifier: Apache-2.0
"""Completion of names and files in shells: what can follow, and the scripts that ask for it."""
