# SPDX-License-Identifier: Apache-2.0
"""Kernels of clients are compiled in processes of their own."""
