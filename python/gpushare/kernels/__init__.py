# SPDX-License-Identifier: Apache-2.0
"""Kernels: sources, compilation, preemptible workers, and argument packing."""
