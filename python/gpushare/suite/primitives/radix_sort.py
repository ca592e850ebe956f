# SPDX-License-Identifier: Apache-2.0
"""One pass of a least-significant-digit radix sort of key-value pairs, 4 bits at a time.

Source: N. Satish, M. Harris, M. Garland, Designing efficient sorting algorithms for manycore GPUs, IPDPS 2009, which
Sort of SHOC (A. Danalis et al., The Scalable Heterogeneous Computing benchmark suite, GPGPU 2010) follows. The pass is
the second, so the pairs are sorted by their lowest digit; how often a tile holds each digit was counted and scanned.
"""

from __future__ import annotations

import numpy as np

from gpushare.suite.case import Argument, Case, grid_over, output
from gpushare.suite.suite_kernel import Size, SuiteKernel

THREADS = 256
TILE = THREADS * 4
BITS = 4
DIGITS = 1 << BITS
SHIFT = BITS
COUNT = {"small": 10_000, "large": 1 << 25}


def digits_of(keys: np.ndarray, shift: int) -> np.ndarray:
    """The digits as bytes: NumPy sorts those in linear time."""
    return (keys >> np.uint32(shift) & np.uint32(DIGITS - 1)).astype(np.uint8)


def offsets_of_tiles(digits: np.ndarray) -> np.ndarray:
    """The start of the pairs of each digit (rows) in each tile (columns) in the sorted order."""
    tiles = -(-digits.size // TILE)
    groups = np.arange(digits.size, dtype=np.int32) // TILE * DIGITS + digits
    counts = np.bincount(groups, minlength=tiles * DIGITS).reshape(tiles, DIGITS).T.ravel()
    return (np.cumsum(counts) - counts).astype(np.int32).reshape(DIGITS, tiles)


def sorted_pairs(keys: np.ndarray, values: np.ndarray, shift: int) -> dict[str, np.ndarray]:
    """The reference."""
    order = np.argsort(digits_of(keys, shift), kind="stable")
    return {"sorted_keys": keys[order], "sorted_values": values[order]}


def _build(size: Size, random: np.random.Generator) -> Case:
    count = COUNT[size]
    keys = np.frombuffer(random.bytes(4 * count), np.uint32)
    keys = keys[np.argsort(digits_of(keys, 0), kind="stable")]
    values = np.arange(count, dtype=np.uint32)
    return Case(
        grid=grid_over((count,), (TILE,)),
        block=(THREADS, 1, 1),
        arguments=[
            output("sorted_keys", count, np.uint32),
            output("sorted_values", count, np.uint32),
            Argument("keys", keys),
            Argument("values", values),
            Argument("offsets", offsets_of_tiles(digits_of(keys, SHIFT))),
            Argument("count", np.int32(count)),
            Argument("shift", np.int32(SHIFT)),
        ],
        reference=lambda: sorted_pairs(keys, values, SHIFT),
    )


KERNEL = SuiteKernel(
    "radix_sort",
    "A pass of radix sort: scans and splits in shared memory, scattered stores",
    _build,
    {"EffiSha": "Sort"},
)
