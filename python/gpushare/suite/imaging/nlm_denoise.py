# SPDX-License-Identifier: Apache-2.0
"""Non-local means denoising with weights that the pixels of a block share.

Source: A. Buades, B. Coll, J.-M. Morel, A non-local algorithm for image denoising, CVPR 2005; one set of weights for a
block of 8x8 threads as in the fast variant of A. Kharlamov, V. Podlozhnyuk, Image denoising, 2007 (NLM2).
"""

from __future__ import annotations

import numpy as np

from gpushare.suite.case import Argument, Case, grid_over, output
from gpushare.suite.suite_kernel import Size, SuiteKernel

SIDE = 8
RADIUS = SIDE // 2
SHIFTS = [(y - RADIUS, x - RADIUS) for y in range(SIDE) for x in range(SIDE)]
SHAPE = {"small": (90, 75), "large": (2_048, 2_048)}
ROWS_AT_ONCE = 4 * SIDE
CELL = 20  # pixels along the side of an area of one colour
NOISE = 7.0
# Two blocks that differ by their noise alone are 2 * 64 * 3 * NOISE^2, about 19,000, apart.
FALL_WITH_DIFFERENCE, FALL_WITH_RADIUS = np.float32(1 / 30_000), np.float32(1 / 64)
ALIKE_BELOW = 30_000
FLAT_SHARE, TEXTURED_SHARE = np.float32(0.9), np.float32(0.3)
# Relative to 255. An exponential may have an error of 2^-21 where it matters, each of the 64 additions of 2^-24.
TOLERANCE = 5e-3


def distances(image: np.ndarray) -> np.ndarray:
    """The difference of each block of an image (with margin RADIUS) to its shifted copies: (shifts, down, across)."""
    rows, columns = (extent - 2 * RADIUS for extent in image.shape[:2])
    own = image[RADIUS : RADIUS + rows, RADIUS : RADIUS + columns]
    found = np.empty((len(SHIFTS), rows // SIDE, columns // SIDE), np.int32)
    for i, (y, x) in enumerate(SHIFTS):
        difference = own - image[RADIUS + y : RADIUS + y + rows, RADIUS + x : RADIUS + x + columns]
        squares = np.einsum("ijc,ijc->ij", difference, difference)
        found[i] = squares.reshape(rows // SIDE, SIDE, columns // SIDE, SIDE).sum(axis=(1, 3))
    return found


def _spread(blocks: np.ndarray) -> np.ndarray:
    return blocks.repeat(SIDE, axis=0).repeat(SIDE, axis=1)[..., np.newaxis]


def denoised(image: np.ndarray) -> np.ndarray:
    """The reference for whole blocks with a margin of RADIUS around them."""
    rows, columns = (extent - 2 * RADIUS for extent in image.shape[:2])
    apart = distances(image)
    squared_radius = np.array([y * y + x * x for y, x in SHIFTS])[:, np.newaxis, np.newaxis]
    weights = np.exp(-(apart * FALL_WITH_DIFFERENCE.item() + squared_radius * FALL_WITH_RADIUS.item()))
    average = np.zeros((rows, columns, 3))
    for (y, x), weight in zip(SHIFTS, weights / weights.sum(axis=0), strict=True):
        average += _spread(weight) * image[RADIUS + y : RADIUS + y + rows, RADIUS + x : RADIUS + x + columns]
    alike = np.count_nonzero(apart < ALIKE_BELOW, axis=0)
    share = _spread(np.where(alike > len(SHIFTS) // 2, FLAT_SHARE, TEXTURED_SHARE))
    pixels = image[RADIUS : RADIUS + rows, RADIUS : RADIUS + columns]
    return pixels + (average - pixels) * share


def with_margin(image: np.ndarray) -> np.ndarray:
    """The border continued up to whole blocks, and by the radius of the window."""
    rows, columns = image.shape[:2]
    margins = ((RADIUS, RADIUS + -rows % SIDE), (RADIUS, RADIUS + -columns % SIDE), (0, 0))
    return np.pad(image, margins, mode="edge").astype(np.int32)


def _reference(image: np.ndarray) -> np.ndarray:
    wide = with_margin(image)
    strips = [wide[first : first + ROWS_AT_ONCE + 2 * RADIUS] for first in range(0, len(image), ROWS_AT_ONCE)]
    colours = np.concatenate([denoised(strip) for strip in strips])[: image.shape[0], : image.shape[1]]
    return np.pad(colours, ((0, 0), (0, 0), (0, 1)), constant_values=255).astype(np.float32)


def _noisy(random: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    cells = random.integers(20, 236, (shape[0] // CELL + 1, shape[1] // CELL + 1, 3))
    flat = cells.repeat(CELL, axis=0).repeat(CELL, axis=1)[: shape[0], : shape[1]]
    return np.clip(flat + random.normal(0, NOISE, flat.shape), 0, 255).astype(np.uint32)


def _build(size: Size, random: np.random.Generator) -> Case:
    rows, columns = SHAPE[size]
    image = _noisy(random, (rows, columns))
    pixels = image[..., 0] | image[..., 1] << np.uint32(8) | image[..., 2] << np.uint32(16)
    return Case(
        grid=grid_over((columns, rows), (SIDE, SIDE)),
        block=(SIDE, SIDE, 1),
        arguments=[
            output("denoised", (rows, columns, 4), np.float32),
            Argument("pixels", pixels),
            Argument("rows", np.int32(rows)),
            Argument("columns", np.int32(columns)),
            Argument("fall_with_difference", FALL_WITH_DIFFERENCE),
            Argument("fall_with_radius", FALL_WITH_RADIUS),
            Argument("alike_below", np.int32(ALIKE_BELOW)),
        ],
        reference=lambda: {"denoised": _reference(image)},
        tolerance=TOLERANCE,
    )


KERNEL = SuiteKernel(
    "nlm_denoise",
    "Non-local means: 64 threads weigh one shift each, then average one pixel each",
    _build,
    {"SRTF": "ImageDenoising-nlm2"},
)
