# SPDX-License-Identifier: Apache-2.0
"""Gradient inverse coefficient of variation (GICOV) over sampled circles, which detects leukocytes in a frame.

Source: N. Ray, S. T. Acton, K. Ley, Tracking leukocytes in vivo with shape and size constrained active contours, IEEE
Transactions on Medical Imaging 2002; the detection kernel of Leukocyte in S. Che et al., Rodinia, IISWC 2009, with its
seven circles of 150 points, a line of the frame per block. Its tracking of the cells is not part of it. Both sides
round every fp32 operation separately.
"""

from __future__ import annotations

import numpy as np

from gpushare.suite.case import Argument, Case, output
from gpushare.suite.suite_kernel import Size, SuiteKernel

RADII = np.arange(8, 22, 2)
POINTS = 150
MARGIN = 20
THREADS = 320
SHAPE = {"small": (60, 67), "large": (3_600, 318)}
ROWS_AT_ONCE = 24
DARK_ROWS = 50  # at the bottom of a frame: no gradient
ANGLES = 2 * np.pi * np.arange(POINTS) / POINTS
COSINES, SINES = np.cos(ANGLES).astype(np.float32), np.sin(ANGLES).astype(np.float32)
STEPS_X, STEPS_Y = (np.rint(np.outer(RADII, axis)).astype(np.int32) for axis in (np.cos(ANGLES), np.sin(ANGLES)))


def scores_of(gradient_x: np.ndarray, gradient_y: np.ndarray) -> np.ndarray:
    """The reference for a frame's gradient, which reaches further by MARGIN on all sides."""
    rows, columns = (extent - 2 * MARGIN for extent in gradient_x.shape)
    best = np.zeros((rows, columns), np.float32)
    for steps_x, steps_y in zip(STEPS_X, STEPS_Y, strict=True):
        mean, squares = np.zeros_like(best), np.zeros_like(best)
        for i in range(POINTS):
            y, x = MARGIN + steps_y[i], MARGIN + steps_x[i]
            window = (slice(y, y + rows), slice(x, x + columns))
            outward = gradient_x[window] * COSINES[i] + gradient_y[window] * SINES[i]
            distance = outward - mean
            mean += distance / np.float32(i + 1)
            squares += distance * (outward - mean)
        with np.errstate(invalid="ignore"):  # 0 / 0 where the frame is dark
            score = mean * mean / (squares / np.float32(POINTS - 1))
        best = np.where(score > best, score, best)
    return best


def _reference(gradient_x: np.ndarray, gradient_y: np.ndarray) -> np.ndarray:
    rows = len(gradient_x) - 2 * MARGIN
    strips = [slice(first, first + ROWS_AT_ONCE + 2 * MARGIN) for first in range(0, rows, ROWS_AT_ONCE)]
    return np.concatenate([scores_of(gradient_x[strip], gradient_y[strip]) for strip in strips])


def _frame(random: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    """Bright discs of the radii looked for on a noisy ground; dark below."""
    frame = random.normal(80, 4, (rows, columns))
    y, x = np.mgrid[-MARGIN : MARGIN + 1, -MARGIN : MARGIN + 1]
    for _ in range(rows * columns // 4_000):
        row, column = random.integers(MARGIN, rows - MARGIN), random.integers(MARGIN, columns - MARGIN)
        around = frame[row - MARGIN : row + MARGIN + 1, column - MARGIN : column + MARGIN + 1]
        around[x * x + y * y <= random.choice(RADII) ** 2] += 60
    frame[-DARK_ROWS:] = 0
    return frame


def _build(size: Size, random: np.random.Generator) -> Case:
    rows, columns = SHAPE[size]
    frame = _frame(random, rows + 2 * MARGIN, columns + 2 * MARGIN)
    gradient_y, gradient_x = (each.astype(np.float32) for each in np.gradient(frame))
    return Case(
        grid=(rows, 1, 1),
        block=(THREADS, 1, 1),
        arguments=[
            output("scores", (rows, columns), np.float32),
            Argument("gradient_x", gradient_x),
            Argument("gradient_y", gradient_y),
            Argument("cosines", COSINES),
            Argument("sines", SINES),
            Argument("steps_x", STEPS_X),
            Argument("steps_y", STEPS_Y),
            Argument("circles", np.int32(RADII.size)),
            Argument("margin", np.int32(MARGIN)),
            Argument("columns", np.int32(columns)),
        ],
        reference=lambda: {"scores": _reference(gradient_x, gradient_y)},
    )


KERNEL = SuiteKernel(
    "leukocyte",
    "Scores of circles around each pixel: long loops of gathered loads and divisions",
    _build,
    {"CD-search": "LEU"},
)
