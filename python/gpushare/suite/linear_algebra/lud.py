# SPDX-License-Identifier: Apache-2.0
"""A step of blocked LU decomposition: the update of the trailing matrix.

Source: the internal kernel of "lud" in S. Che et al., A characterization of the Rodinia benchmark suite with comparison
to contemporary CMP workloads, IISWC 2010. Between its launches the other two kernels factor the next tiles of L and
U; these have too few blocks to fill a GPU.
"""

from __future__ import annotations

import numpy as np

from gpushare.suite.case import Argument, Case
from gpushare.suite.suite_kernel import Size, SuiteKernel
from gpushare.suite.whole_numbers import whole_numbers

TILE = 16
SIZE = {"small": 96, "large": 10_240}
FINISHED = {"small": 2 * TILE, "large": 16 * TILE}
"""Rows and columns finished in earlier steps."""


def updated(matrix: np.ndarray, finished: int) -> np.ndarray:
    """The reference."""
    result = matrix.copy()
    done, left = slice(finished, finished + TILE), slice(finished + TILE, None)
    result[left, left] -= matrix[left, done] @ matrix[done, left]
    return result


def _build(size: Size, random: np.random.Generator) -> Case:
    extent, finished = SIZE[size], FINISHED[size]
    matrix = whole_numbers(random, (extent, extent))
    tiles_left = (extent - finished) // TILE - 1
    return Case(
        grid=(tiles_left, tiles_left, 1),
        block=(TILE, TILE, 1),
        arguments=[
            Argument("matrix", matrix, is_output=True, is_updated=True),
            Argument("size", np.int32(extent)),
            Argument("finished", np.int32(finished)),
        ],
        reference=lambda: {"matrix": updated(matrix, finished)},
    )


KERNEL = SuiteKernel(
    "lud",
    "The trailing update of blocked LU: 16 x 16 shared tiles, short blocks",
    _build,
    {"CuMAS": "lud"},
    is_layerable=False,
)
