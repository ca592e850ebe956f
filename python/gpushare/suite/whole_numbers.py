# SPDX-License-Identifier: Apache-2.0
"""Inputs on which fp32 arithmetic is exact, so that results can be compared bit by bit."""

from __future__ import annotations

import numpy as np

LARGEST = 8


def whole_numbers(random: np.random.Generator, shape: int | tuple[int, ...]) -> np.ndarray:
    """Whole numbers from -8 to 8 as fp32.

    Sums of products of two of them are whole as well, and exact in fp32 up to 2^24: the order of the additions does not
    matter, nor does a fused multiply-add. Weights that are powers of two change nothing about this.
    """
    return random.integers(-LARGEST, LARGEST, shape, np.int8, endpoint=True).astype(np.float32)
