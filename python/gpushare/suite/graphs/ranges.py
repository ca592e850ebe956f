# SPDX-License-Identifier: Apache-2.0
"""Consecutive numbers from many starts, to gather ragged pieces of an array at once."""

from __future__ import annotations

import numpy as np


def ranges(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Consecutive numbers from each start, as many as its length.

    >>> ranges(np.array([10, 5, 7]), np.array([3, 0, 2]))
    array([10, 11, 12,  7,  8])
    """
    ends = np.cumsum(lengths, dtype=np.int64)
    return np.arange(ends[-1]) + np.repeat(starts - (ends - lengths), lengths)
