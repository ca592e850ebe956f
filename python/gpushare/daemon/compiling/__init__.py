# SPDX-License-Identifier: Apache-2.0
"""Compiles clients' kernels in separate processes."""
