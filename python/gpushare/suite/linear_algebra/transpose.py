# SPDX-License-Identifier: Apache-2.0
"""Matrix transpose through a padded tile in shared memory.

Source: G. Ruetsch, P. Micikevicius, Optimizing matrix transpose in CUDA, 2009.
"""

from __future__ import annotations

import numpy as np

from gpushare.suite.case import Argument, Case, grid_over, output
from gpushare.suite.suite_kernel import Size, SuiteKernel
from gpushare.suite.whole_numbers import whole_numbers

TILE = 32
ROWS_AT_ONCE = 8
SHAPE = {"small": (70, 45), "large": (12_288, 10_240)}


def _build(size: Size, random: np.random.Generator) -> Case:
    rows, columns = SHAPE[size]
    matrix = whole_numbers(random, (rows, columns))
    return Case(
        grid=grid_over((columns, rows), (TILE, TILE)),
        block=(TILE, ROWS_AT_ONCE, 1),
        arguments=[
            output("transposed", (columns, rows), np.float32),
            Argument("matrix", matrix),
            Argument("rows", np.int32(rows)),
            Argument("columns", np.int32(columns)),
        ],
        reference=lambda: {"transposed": matrix.T},
    )


KERNEL = SuiteKernel(
    "transpose",
    "Matrix transpose through 32 x 33 shared tiles: memory-bound, one barrier",
    _build,
    {"Slate": "TR"},
)
