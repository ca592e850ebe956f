# SPDX-License-Identifier: Apache-2.0
"""9-point stencil on a 2-D grid: an image smoothed with the binomial weights 1 2 1 in both directions.

Source: the binomial filter of B. Jaehne, Digital Image Processing. The weights are powers of two, so the result is
exact.
"""

from __future__ import annotations

import numpy as np

from gpushare.suite.case import Argument, Case, grid_over, output
from gpushare.suite.suite_kernel import Size, SuiteKernel
from gpushare.suite.whole_numbers import whole_numbers

BLOCK = (32, 8, 1)
SHAPE = {"small": (37, 50), "large": (10_240, 10_240)}


def smoothed(image: np.ndarray) -> np.ndarray:
    """The reference: the inner points in one direction, then in the other; border points do not change."""
    down = 0.25 * image[:-2] + 0.5 * image[1:-1] + 0.25 * image[2:]
    result = image.copy()
    result[1:-1, 1:-1] = 0.25 * down[:, :-2] + 0.5 * down[:, 1:-1] + 0.25 * down[:, 2:]
    return result


def _build(size: Size, random: np.random.Generator) -> Case:
    rows, columns = SHAPE[size]
    image = whole_numbers(random, (rows, columns))
    return Case(
        grid=grid_over((columns, rows), BLOCK[:2]),
        block=BLOCK,
        arguments=[
            output("smooth", (rows, columns), np.float32),
            Argument("image", image),
            Argument("rows", np.int32(rows)),
            Argument("columns", np.int32(columns)),
        ],
        reference=lambda: {"smooth": smoothed(image)},
    )


KERNEL = SuiteKernel(
    "stencil_2d",
    "9-point stencil, 2-D grid, weights in constant memory: memory-bound, caches",
    _build,
    {"EffiSha": "Stencil2D"},
)
