# SPDX-License-Identifier: Apache-2.0
"""Escape times of the Mandelbrot set.

Source: the escape-time algorithm of H.-O. Peitgen, P. H. Richter, The Beauty of Fractals, 1986. Both sides round every
fp32 operation on its own, so the counts are equal to the last pixel.
"""

from __future__ import annotations

import numpy as np

from gpushare.suite.case import Argument, Case, grid_over, output
from gpushare.suite.suite_kernel import Size, SuiteKernel

BLOCK = (16, 16, 1)
SHAPE = {"small": (40, 50), "large": (4_096, 4_096)}
LIMIT = {"small": 40, "large": 512}
WIDTH = 2.5
PIXELS_AT_ONCE = 65_536  # fits a core's cache


def escape_times(real: np.ndarray, imaginary: np.ndarray, limit: int) -> np.ndarray:
    """The reference for a list of points: steps until they leave the circle of radius 2, the limit if they do not."""
    counts = np.full(real.size, limit, np.int32)
    pixels = np.arange(real.size)
    x, y = np.zeros_like(real), np.zeros_like(imaginary)
    for count in range(limit):
        inside = x * x + y * y <= 4.0
        if not inside.all():
            counts[pixels[~inside]] = count
            x, y, real, imaginary, pixels = (each[inside] for each in (x, y, real, imaginary, pixels))
        x, y = x * x - y * y + real, (x + x) * y + imaginary
    return counts


def _image(left: np.float32, top: np.float32, step: np.float32, shape: tuple[int, int], limit: int) -> np.ndarray:
    rows, columns = (np.arange(extent, dtype=np.float32) for extent in shape)
    imaginary, real = (plane.ravel() for plane in np.meshgrid(top + rows * step, left + columns * step, indexing="ij"))
    pieces = [slice(first, first + PIXELS_AT_ONCE) for first in range(0, real.size, PIXELS_AT_ONCE)]
    return np.concatenate([escape_times(real[piece], imaginary[piece], limit) for piece in pieces]).reshape(shape)


def _build(size: Size, random: np.random.Generator) -> Case:
    rows, columns = SHAPE[size]
    # The seed moves the window by up to a twentieth, so that images differ but cost the same.
    left, top = (np.float32(corner + random.uniform(0, WIDTH / 20)) for corner in (-2.05, -1.3))
    step, limit = np.float32(WIDTH / columns), LIMIT[size]
    return Case(
        grid=grid_over((columns, rows), BLOCK[:2]),
        block=BLOCK,
        arguments=[
            output("counts", (rows, columns), np.int32),
            Argument("left", left),
            Argument("top", top),
            Argument("step", step),
            Argument("rows", np.int32(rows)),
            Argument("columns", np.int32(columns)),
            Argument("limit", np.int32(limit)),
        ],
        reference=lambda: {"counts": _image(left, top, step, (rows, columns), limit)},
    )


KERNEL = SuiteKernel("mandelbrot", "Escape times: compute-bound, blocks of very uneven length", _build)
