# SPDX-License-Identifier: Apache-2.0
"""Unmodified programs that share a GPU: alone, by time slicing, under MPS, and under ``gpushare run``."""
