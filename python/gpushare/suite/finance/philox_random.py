# SPDX-License-Identifier: Apache-2.0
"""Philox4x32-10 random numbers, four per thread, the counter read from blockIdx in functions that are not inlined.

Source: J. K. Salmon et al., Parallel random numbers: as easy as 1, 2, 3, SC 2011.
"""

from __future__ import annotations

import numpy as np

from gpushare.suite.case import Argument, Case, output
from gpushare.suite.suite_kernel import Size, SuiteKernel

THREADS = 256
GRID = {"small": (3, 4, 2), "large": (64, 64, 64)}
ROUNDS = 10
MULTIPLIERS = np.array([0xD2511F53, 0xCD9E8D57], np.uint64)
KEY_STEPS = np.array([0x9E3779B9, 0xBB67AE85], np.uint32)
LOW_WORD, WORD_BITS = np.uint64(0xFFFFFFFF), np.uint64(32)


def philox(counters: np.ndarray, key: np.ndarray) -> np.ndarray:
    """The reference: the numbers for each counter (a row of four words) under a key of two."""
    for _ in range(ROUNDS):
        products = MULTIPLIERS * counters[:, [0, 2]]
        low, high = (products & LOW_WORD).astype(np.uint32), (products >> WORD_BITS).astype(np.uint32)
        first, third = high[:, 1] ^ counters[:, 1] ^ key[0], high[:, 0] ^ counters[:, 3] ^ key[1]
        counters = np.column_stack([first, low[:, 1], third, low[:, 0]])
        key = key + KEY_STEPS
    return counters


def _numbers(grid: tuple[int, int, int], key: np.ndarray) -> np.ndarray:
    x, y, z = grid
    row = np.zeros((x, THREADS, 4), np.uint32)
    row[..., 0], row[..., 1] = np.arange(THREADS), np.arange(x)[:, np.newaxis]
    numbers = np.empty((z, y, x * THREADS, 4), np.uint32)
    for block_z, block_y in np.ndindex(z, y):
        row[..., 2], row[..., 3] = block_y, block_z
        numbers[block_z, block_y] = philox(row.reshape(-1, 4), key)
    return numbers.reshape(-1, 4)


def _build(size: Size, random: np.random.Generator) -> Case:
    grid = GRID[size]
    key = random.integers(0, 1 << 32, 2, np.uint32)
    return Case(
        grid=grid,
        block=(THREADS, 1, 1),
        arguments=[
            output("numbers", (grid[0] * grid[1] * grid[2] * THREADS, 4), np.uint32),
            Argument("key_low", key[0]),
            Argument("key_high", key[1]),
        ],
        reference=lambda: {"numbers": _numbers(grid, key)},
    )


KERNEL = SuiteKernel(
    "philox_random", "Counter-based random numbers: blockIdx read in non-inlined functions", _build, is_layerable=False
)
