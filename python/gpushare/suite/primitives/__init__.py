# SPDX-License-Identifier: Apache-2.0
"""Sums, scans, sorts and other building blocks over arrays."""

from gpushare.suite.primitives import (
    early_return,
    histogram,
    merge_sort,
    radix_sort,
    reduction,
    scan_lookback,
    triad,
    triad_vector,
    vector_add,
)

KERNELS = (
    triad.KERNEL,
    triad_vector.KERNEL,
    vector_add.KERNEL,
    reduction.KERNEL,
    scan_lookback.KERNEL,
    histogram.KERNEL,
    radix_sort.KERNEL,
    merge_sort.KERNEL,
    early_return.KERNEL,
)
