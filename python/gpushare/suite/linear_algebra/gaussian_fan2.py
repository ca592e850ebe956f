# SPDX-License-Identifier: Apache-2.0
"""One step of Gaussian elimination: the rows below the pivot lose their multiple of the pivot row, in place.

Source: Fan2 of "gaussian" in S. Che et al., Rodinia: a benchmark suite for heterogeneous computing, IISWC 2009. Here
neighbouring threads take neighbouring columns.
"""

from __future__ import annotations

import numpy as np

from gpushare.suite.case import Argument, Case, grid_over
from gpushare.suite.suite_kernel import Size, SuiteKernel
from gpushare.suite.whole_numbers import whole_numbers

BLOCK = (16, 16, 1)
SIZE = {"small": 45, "large": 12_288}
PIVOT = {"small": 5, "large": 1_024}


def eliminated(
    matrix: np.ndarray, right_side: np.ndarray, multipliers: np.ndarray, pivot: int
) -> dict[str, np.ndarray]:
    """The reference, exact because multipliers are whole eighths."""
    rows, reduced, reduced_side = slice(pivot + 1, None), matrix.copy(), right_side.copy()
    reduced[rows, pivot:] -= multipliers[rows, np.newaxis] * matrix[pivot, pivot:]
    reduced_side[rows] -= multipliers[rows] * right_side[pivot]
    return {"matrix": reduced, "right_side": reduced_side}


def _build(size: Size, random: np.random.Generator) -> Case:
    count, pivot = SIZE[size], PIVOT[size]
    matrix, right_side = whole_numbers(random, (count, count)), whole_numbers(random, count)
    multipliers = whole_numbers(random, count) / np.float32(8)
    return Case(
        grid=grid_over((count, count), BLOCK[:2]),
        block=BLOCK,
        arguments=[
            Argument("matrix", matrix, is_output=True, is_updated=True),
            Argument("right_side", right_side, is_output=True, is_updated=True),
            Argument("multipliers", multipliers),
            Argument("size", np.int32(count)),
            Argument("pivot", np.int32(pivot)),
        ],
        reference=lambda: eliminated(matrix, right_side, multipliers, pivot),
    )


KERNEL = SuiteKernel(
    "gaussian_fan2",
    "A step of Gaussian elimination: 2-D grid, blocks that return at once",
    _build,
    {"Slate": "GS", "CD-search": "GAUSSIAN", "CuMAS": "gaussian"},
    is_layerable=False,
)
