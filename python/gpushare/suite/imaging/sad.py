# SPDX-License-Identifier: Apache-2.0
"""Sums of absolute differences between the 4x4 blocks of a frame and all places around them in the frame before.

Source: full-search block matching for H.264, the first kernel of SAD in J. A. Stratton et al., Parboil: a revised
benchmark suite, 2012: 33x33 places, 61 threads per block with 18 places each. It keeps two bytes per sum, this four.
"""

from __future__ import annotations

import numpy as np

from gpushare.suite.case import Argument, Case, output
from gpushare.suite.suite_kernel import Size, SuiteKernel

THREADS = 61
SIDE = 4
REACH = 16
WINDOW = 2 * REACH + 1
BLOCKS = {"small": (12, 11), "large": (180, 320)}
ROWS_AT_ONCE = 8  # blocks down


def sums_of_rows(frame: np.ndarray, surroundings: np.ndarray) -> np.ndarray:
    """The reference for some rows of blocks; the surroundings reach further than the frame by REACH on all sides."""
    rows, columns = frame.shape
    sums = np.empty((rows // SIDE, columns // SIDE, WINDOW, WINDOW), np.uint32)
    for y, x in np.ndindex(WINDOW, WINDOW):
        differences = np.abs(frame - surroundings[y : y + rows, x : x + columns])
        sums[:, :, y, x] = differences.reshape(rows // SIDE, SIDE, columns // SIDE, SIDE).sum(axis=(1, 3))
    return sums.reshape(rows // SIDE, columns // SIDE, WINDOW * WINDOW)


def _reference(frame: np.ndarray, previous: np.ndarray) -> np.ndarray:
    surroundings = np.pad(previous, REACH, mode="edge").astype(np.int16)
    step = ROWS_AT_ONCE * SIDE
    return np.concatenate([
        sums_of_rows(frame[first : first + step].astype(np.int16), surroundings[first : first + step + 2 * REACH])
        for first in range(0, len(frame), step)
    ])  # fmt: skip


def _frames(random: np.random.Generator, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """A frame and the one before, in which the same scene lay up to 9 pixels elsewhere, with some noise."""
    rows, columns = shape
    scene = random.integers(0, 256, (rows // 8 + 3, columns // 8 + 3), np.uint8).repeat(8, axis=0).repeat(8, axis=1)
    y, x = random.integers(0, 10, 2)
    noise = random.integers(0, 8, scene.shape, np.uint8)
    frame, previous = scene[:rows, :columns], (scene ^ noise)[y : y + rows, x : x + columns]
    return np.ascontiguousarray(frame), np.ascontiguousarray(previous)


def _build(size: Size, random: np.random.Generator) -> Case:
    down, across = BLOCKS[size]
    rows, columns = SIDE * down, SIDE * across
    frame, previous = _frames(random, (rows, columns))
    return Case(
        grid=(across, down, 1),
        block=(THREADS, 1, 1),
        arguments=[
            output("sums", (down, across, WINDOW * WINDOW), np.uint32),
            Argument("frame", frame),
            Argument("previous", previous),
            Argument("rows", np.int32(rows)),
            Argument("columns", np.int32(columns)),
        ],
        reference=lambda: {"sums": _reference(frame, previous)},
    )


KERNEL = SuiteKernel(
    "sad",
    "Motion estimation: 61 threads per block, unaligned loads of bytes, a kilobyte and more of results each",
    _build,
    {"SRTF": "SAD"},
)
