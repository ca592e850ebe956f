# SPDX-License-Identifier: Apache-2.0
"""Checks the grid and the block of a CUDA launch: one to three extents, x first."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from gpushare._core import InvalidInput
from gpushare.checks import require, whole

Extent = tuple[int, int, int]

MOST_IN_GRID = (2**31 - 1, 65_535, 65_535)
MOST_IN_BLOCK = (1024, 1024, 64)
MOST_THREADS = 1024
MOST_TASKS = 2**31 - 1
"""Largest number of blocks of one launch. CUDA allows more; a worker numbers its tasks with 31 bits."""


def grid_of(subject: str, value: Any) -> Extent:
    """The grid as three extents.

    >>> grid_of("grid", 300), grid_of("grid", [4, 2])
    ((300, 1, 1), (4, 2, 1))
    """
    grid = _extent(subject, value, MOST_IN_GRID)
    blocks = math.prod(grid)
    require(blocks <= MOST_TASKS, f"{subject} has {blocks} blocks; at most {MOST_TASKS} can be run: split the launch")
    return grid


def block_of(subject: str, value: Any) -> Extent:
    """The block as three extents.

    >>> block_of("block", (32, 8))
    (32, 8, 1)
    """
    block = _extent(subject, value, MOST_IN_BLOCK)
    threads = math.prod(block)
    require(threads <= MOST_THREADS, f"{subject} has {threads} threads, got {value!r}; a GPU takes {MOST_THREADS}")
    return block


def _extent(subject: str, value: Any, most: tuple[int, int, int]) -> Extent:
    values = [value] if isinstance(value, int | np.integer) else value
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InvalidInput(f"{subject} must be a whole number, or up to 3 of them, got {value!r}")
    extents = list(values)
    require(1 <= len(extents) <= 3, f"{subject} must be a whole number, or up to 3 of them, got {value!r}")
    x, y, z = [
        whole(f"{subject}.{axis}", extent, 1, limit)
        for axis, extent, limit in zip("xyz", extents + [1] * (3 - len(extents)), most, strict=True)
    ]
    return x, y, z
