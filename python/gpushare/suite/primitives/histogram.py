# SPDX-License-Identifier: Apache-2.0
"""Histogram of bytes with atomics in shared and in global memory.

Source: V. Podlozhnyuk, Histogram calculation in CUDA, 2007; shared atomics as N. Sakharnykh, GPU Pro Tip: fast
histograms using shared atomics on Maxwell, 2015.
"""

from __future__ import annotations

import numpy as np

from gpushare.suite.case import Argument, Case, grid_over
from gpushare.suite.suite_kernel import Size, SuiteKernel

BINS = 256
VALUES_PER_BLOCK = BINS * 32
VALUES_AT_ONCE = 1 << 20
COUNT = {"small": 20_000, "large": 1 << 28}


def _bytes(random: np.random.Generator, count: int) -> np.ndarray:
    # The mean of two: the middle bins are the fullest, so that threads collide as they do in images.
    first, second = (np.frombuffer(random.bytes(count), np.uint8) for _ in range(2))
    return first // 2 + second // 2


def counted(values: np.ndarray) -> np.ndarray:
    """The reference, in pieces because bincount makes 8 bytes of each."""
    pieces = np.array_split(values, -(-values.size // VALUES_AT_ONCE))
    return np.sum([np.bincount(piece, minlength=BINS) for piece in pieces], axis=0).astype(np.uint32)


def _build(size: Size, random: np.random.Generator) -> Case:
    count = COUNT[size]
    values = _bytes(random, count)
    return Case(
        grid=grid_over((count,), (VALUES_PER_BLOCK,)),
        block=(BINS, 1, 1),
        arguments=[
            Argument("counts", np.zeros(BINS, np.uint32), is_output=True, is_updated=True),
            Argument("values", values),
            Argument("count", np.int32(count)),
        ],
        reference=lambda: {"counts": counted(values)},
    )


KERNEL = SuiteKernel("histogram", "256-bin histogram: shared and global atomics", _build, is_layerable=False)
