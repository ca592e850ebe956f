# SPDX-License-Identifier: Apache-2.0
"""7-point stencil on a 3-D grid: one explicit (Jacobi) step of the heat equation.

Source: the finite-difference scheme of K. Datta et al., Stencil computation optimization and auto-tuning, SC 2008.
"""

from __future__ import annotations

import numpy as np

from gpushare.suite.case import Argument, Case, grid_over, output
from gpushare.suite.suite_kernel import Size, SuiteKernel
from gpushare.suite.whole_numbers import whole_numbers

BLOCK = (32, 4, 2)
SHAPE = {"small": (7, 11, 40), "large": (512, 512, 512)}
"""Planes, rows, columns."""
CENTRE_WEIGHT, NEIGHBOUR_WEIGHT = np.float32(0.25), np.float32(0.125)  # powers of two: the result is exact


def heat_step(now: np.ndarray) -> np.ndarray:
    """The reference; border points do not change."""
    neighbours = now[:-2, 1:-1, 1:-1] + now[2:, 1:-1, 1:-1]
    neighbours += now[1:-1, :-2, 1:-1] + now[1:-1, 2:, 1:-1]
    neighbours += now[1:-1, 1:-1, :-2] + now[1:-1, 1:-1, 2:]
    result = now.copy()
    result[1:-1, 1:-1, 1:-1] = CENTRE_WEIGHT * now[1:-1, 1:-1, 1:-1] + NEIGHBOUR_WEIGHT * neighbours
    return result


def _build(size: Size, random: np.random.Generator) -> Case:
    planes, rows, columns = SHAPE[size]
    now = whole_numbers(random, SHAPE[size])
    return Case(
        grid=grid_over((columns, rows, planes), BLOCK),
        block=BLOCK,
        arguments=[
            output("next", SHAPE[size], np.float32),
            Argument("now", now),
            Argument("centre_weight", CENTRE_WEIGHT),
            Argument("neighbour_weight", NEIGHBOUR_WEIGHT),
            Argument("planes", np.int32(planes)),
            Argument("rows", np.int32(rows)),
            Argument("columns", np.int32(columns)),
        ],
        reference=lambda: {"next": heat_step(now)},
    )


KERNEL = SuiteKernel(
    "stencil_3d", "7-point stencil, 3-D grid of 3-D blocks: memory-bound, short blocks", _build, is_layerable=False
)
