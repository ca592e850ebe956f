# SPDX-License-Identifier: Apache-2.0
"""Benchmarks of sharing on a real GPU: ``python -m benchmarks.gpu NAME`` (README.md beside this file)."""
