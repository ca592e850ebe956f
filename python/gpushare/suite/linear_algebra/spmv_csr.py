# SPDX-License-Identifier: Apache-2.0
"""Sparse matrix times vector, compressed sparse rows, one row per thread.

Source: N. Bell, M. Garland, Implementing sparse matrix-vector multiplication on throughput-oriented processors, SC
2009, "CSR (scalar)".
"""

from __future__ import annotations

import numpy as np

from gpushare.suite.case import Argument, Case, grid_over, output
from gpushare.suite.segments import offsets_of, segment_sums
from gpushare.suite.suite_kernel import Size, SuiteKernel
from gpushare.suite.whole_numbers import whole_numbers

THREADS = 128
ROWS = {"small": 500, "large": 2_000_000}
MEAN_LENGTH = 12


def _build(size: Size, random: np.random.Generator) -> Case:
    rows = ROWS[size]
    row_offsets = offsets_of(random.geometric(1 / (1 + MEAN_LENGTH), rows) - 1)
    elements = int(row_offsets[-1])
    columns = random.integers(0, rows, elements, np.int32)
    values, x = whole_numbers(random, elements), whole_numbers(random, rows)
    return Case(
        grid=grid_over((rows,), (THREADS,)),
        block=(THREADS, 1, 1),
        arguments=[
            output("y", rows, np.float32),
            Argument("row_offsets", row_offsets),
            Argument("columns", columns),
            Argument("values", values),
            Argument("x", x),
            Argument("rows", np.int32(rows)),
        ],
        reference=lambda: {"y": segment_sums(values * x[columns], row_offsets)},
    )


KERNEL = SuiteKernel(
    "spmv_csr",
    "Sparse matrix times vector: irregular loads, loops of uneven length",
    _build,
    {"EffiSha": "Spmv"},
)
