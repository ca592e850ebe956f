# SPDX-License-Identifier: Apache-2.0
"""Recordings of unmodified CUDA programs, and their replay: gpushare record (docs/guide/record.md)."""
