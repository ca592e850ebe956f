# SPDX-License-Identifier: Apache-2.0
"""Consecutive segments of uneven length, and the sums over them."""

from __future__ import annotations

import numpy as np


def offsets_of(lengths: np.ndarray) -> np.ndarray:
    """The start of each segment, and the end of the last one.

    >>> offsets_of(np.array([2, 0, 3]))
    array([0, 2, 2, 5], dtype=int32)
    """
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)


def segment_sums(values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """The sum of each segment of whole numbers; in fp64 the difference of two prefix sums is exact.

    >>> segment_sums(np.array([1, 2, 3, 4, 5], np.float32), np.array([0, 2, 2, 5]))
    array([ 3.,  0., 12.], dtype=float32)
    """
    prefix = np.concatenate([[0.0], np.cumsum(values, dtype=np.float64)])
    return np.diff(prefix[offsets]).astype(np.float32)
