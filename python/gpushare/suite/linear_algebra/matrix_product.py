# SPDX-License-Identifier: Apache-2.0
"""Product of two fp32 matrices, 16 x 16 tiles in shared memory.

Source: the blocked product of NVIDIA, CUDA C++ Programming Guide, "Shared Memory".
"""

from __future__ import annotations

import numpy as np

from gpushare.suite.case import Argument, Case, grid_over, output
from gpushare.suite.suite_kernel import Size, SuiteKernel
from gpushare.suite.whole_numbers import whole_numbers

TILE = 16
EXTENT = {"small": (40, 50, 60), "large": (2_048, 2_048, 2_048)}
"""Rows of the left matrix, its columns, columns of the right one."""


def _build(size: Size, random: np.random.Generator) -> Case:
    rows, inner, columns = EXTENT[size]
    left, right = whole_numbers(random, (rows, inner)), whole_numbers(random, (inner, columns))
    return Case(
        grid=grid_over((columns, rows), (TILE, TILE)),
        block=(TILE, TILE, 1),
        arguments=[
            output("product", (rows, columns), np.float32),
            Argument("left", left),
            Argument("right", right),
            Argument("rows", np.int32(rows)),
            Argument("inner", np.int32(inner)),
            Argument("columns", np.int32(columns)),
        ],
        reference=lambda: {"product": left @ right},
    )


KERNEL = SuiteKernel(
    "matrix_product",
    "fp32 matrix product, 16 x 16 shared tiles: compute-bound, long blocks",
    _build,
    {"Slate": "MM"},
)
