# SPDX-License-Identifier: Apache-2.0
"""Sum of every stretch of 512 values: a tree in dynamic shared memory, a barrier per level.

Source: M. Harris, Optimizing parallel reduction in CUDA, 2007, kernel 4 (sequential addressing, two loads per thread).
"""

from __future__ import annotations

import numpy as np

from gpushare.suite.case import Argument, Case, grid_over, output
from gpushare.suite.suite_kernel import Size, SuiteKernel
from gpushare.suite.whole_numbers import whole_numbers

THREADS = 256
VALUES_PER_BLOCK = 2 * THREADS
COUNT = {"small": 5_000, "large": 200_000_003}


def stretch_sums(values: np.ndarray) -> np.ndarray:
    """The reference, exact on whole numbers."""
    return np.add.reduceat(values, np.arange(0, values.size, VALUES_PER_BLOCK))


def _build(size: Size, random: np.random.Generator) -> Case:
    count = COUNT[size]
    values = whole_numbers(random, count)
    grid = grid_over((count,), (VALUES_PER_BLOCK,))
    return Case(
        grid=grid,
        block=(THREADS, 1, 1),
        shared_bytes=THREADS * values.itemsize,
        arguments=[
            output("block_sums", grid[0], np.float32),
            Argument("values", values),
            Argument("count", np.int32(count)),
        ],
        reference=lambda: {"block_sums": stretch_sums(values)},
    )


KERNEL = SuiteKernel(
    "reduction",
    "Block sums, dynamic shared memory: nine barriers in a short block",
    _build,
    {"EffiSha": "Reduction"},
)
