# SPDX-License-Identifier: Apache-2.0
"""8x8 discrete cosine transform with quantisation, and the way back: the two halves of JPEG.

Source: ISO/IEC 10918-1 (JPEG), the transform as two passes of a matrix in fixed point (13 bits, as in the Independent
JPEG Group's accurate integer method), the luminance steps of its table K.1; rows and columns are shared among 64
threads as in A. Obukhov, A. Kharlamov, Discrete cosine transform for 8x8 blocks with CUDA, 2008.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gpushare.suite.case import Argument, Case, grid_over, output
from gpushare.suite.suite_kernel import Size, SuiteKernel

THREADS = 64
TILE = (32, 16)
SHAPE = {"small": (83, 117), "large": (10_240, 10_240)}
PATTERN = 1_024  # the side of the repeated pattern of a large image; divides its sides
ROWS_AT_ONCE = 64
FRACTION_BITS, EXTRA_BITS = 13, 2
STEPS = np.array([
    16, 11, 10, 16, 24, 40, 51, 61,
    12, 12, 14, 19, 26, 58, 60, 55,
    14, 13, 16, 24, 40, 57, 69, 56,
    14, 17, 22, 29, 51, 87, 80, 62,
    18, 22, 37, 56, 68, 109, 103, 77,
    24, 35, 55, 64, 81, 104, 113, 92,
    49, 64, 78, 87, 103, 121, 120, 101,
    72, 92, 95, 98, 112, 100, 103, 99,
], np.int32).reshape(8, 8)  # fmt: skip


def cosine_matrix() -> np.ndarray:
    """The orthonormal matrix of the transform: a row for each frequency."""
    frequency, place = np.arange(8)[:, np.newaxis], np.arange(8)
    matrix = 0.5 * np.cos((2 * place + 1) * frequency * np.pi / 16)
    matrix[0] /= np.sqrt(2)
    return matrix


COSINES = np.rint(cosine_matrix() * (1 << FRACTION_BITS)).astype(np.int32)


def _pass(matrix: np.ndarray, blocks: np.ndarray, bits: int) -> np.ndarray:
    # fp64 holds the sums, and NumPy has a fast product for it.
    sums = (matrix.astype(np.float64) @ blocks).astype(np.int32)
    return (sums + (1 << (bits - 1))) >> bits


def _both_passes(matrix: np.ndarray, blocks: np.ndarray) -> np.ndarray:
    """The first over the last axis, the second over the one before."""
    between = _pass(matrix, blocks.swapaxes(-1, -2), FRACTION_BITS - EXTRA_BITS)
    return _pass(matrix, between.swapaxes(-1, -2), FRACTION_BITS + EXTRA_BITS)


def _in_blocks(image: np.ndarray) -> np.ndarray:
    rows, columns = image.shape
    return image.reshape(rows // 8, 8, columns // 8, 8).swapaxes(1, 2)


def _joined(blocks: np.ndarray) -> np.ndarray:
    down, across = blocks.shape[:2]
    return blocks.swapaxes(1, 2).reshape(8 * down, 8 * across)


def quantised(pixels: np.ndarray) -> np.ndarray:
    """The reference of the forward transform: the levels of an image of bytes."""
    rows, columns = pixels.shape
    blocks = _in_blocks(np.pad(pixels, ((0, -rows % 8), (0, -columns % 8)), mode="edge").astype(np.int32) - 128)
    values = _both_passes(COSINES, blocks)
    return _joined(np.sign(values) * ((np.abs(values) + STEPS // 2) // STEPS)).astype(np.int32)


def restored(levels: np.ndarray) -> np.ndarray:
    """The reference of the inverse: the pixels of whole blocks."""
    # Columns first, which is the transposed block's rows.
    blocks = (_in_blocks(levels) * STEPS).swapaxes(-1, -2)
    values = _both_passes(COSINES.T, blocks).swapaxes(-1, -2)
    return np.clip(_joined(values) + 128, 0, 255)


def _in_strips(function: Callable[[np.ndarray], np.ndarray], image: np.ndarray) -> np.ndarray:
    return np.concatenate(
        [function(image[first : first + ROWS_AT_ONCE]) for first in range(0, len(image), ROWS_AT_ONCE)]
    )


def picture(random: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """Bytes: waves, which become few levels, with noise, and saturated where they are brightest and darkest."""
    rows, columns = shape
    y, x = np.ogrid[: min(rows, PATTERN), : min(columns, PATTERN)]
    phases = random.uniform(0, 2 * np.pi, 3)
    waves = np.sin(y / 9 + phases[0]) + np.sin(x / 23 + phases[1]) + np.sin((x + y) / 3 + phases[2])
    pattern = np.clip(128 + 60 * waves + random.normal(0, 6, waves.shape), 0, 255).astype(np.uint8)
    return np.tile(pattern, (-(-shape[0] // pattern.shape[0]), -(-shape[1] // pattern.shape[1])))[
        : shape[0], : shape[1]
    ]


def _case(shape: tuple[int, int], result: Argument, source: Argument, right: Callable[[], np.ndarray]) -> Case:
    rows, columns = shape
    return Case(
        grid=grid_over((columns, rows), TILE),
        block=(THREADS, 1, 1),
        arguments=[
            result,
            source,
            Argument("cosines", COSINES),
            Argument("steps", STEPS),
            Argument("rows", np.int32(rows)),
            Argument("columns", np.int32(columns)),
        ],
        reference=lambda: {result.name: right()},
    )


def _build_forward(size: Size, random: np.random.Generator) -> Case:
    pixels = picture(random, SHAPE[size])
    rows, columns = (-(-extent // 8) * 8 for extent in SHAPE[size])
    levels = output("levels", (rows, columns), np.int32)
    return _case(SHAPE[size], levels, Argument("pixels", pixels), lambda: _in_strips(quantised, pixels))


def _build_inverse(size: Size, random: np.random.Generator) -> Case:
    rows, columns = SHAPE[size]
    repeated = quantised(picture(random, (min(rows, PATTERN), min(columns, PATTERN))))
    levels = np.tile(repeated, (max(1, rows // PATTERN), max(1, columns // PATTERN)))
    pixels = output("pixels", (rows, columns), np.int32)
    return _case(SHAPE[size], pixels, Argument("levels", levels), lambda: _in_strips(restored, levels)[:rows, :columns])


FORWARD = SuiteKernel(
    "dct_8x8",
    "JPEG's transform and quantisation: 64 threads, rows and columns through shared memory",
    _build_forward,
    {"SRTF": "JPEG-e"},
)
INVERSE = SuiteKernel(
    "idct_8x8",
    "JPEG's dequantisation and inverse transform: 64 threads, columns and rows through shared memory",
    _build_inverse,
    {"SRTF": "JPEG-d"},
)
