# SPDX-License-Identifier: Apache-2.0
"""The passes of a merge sort of key-value pairs that fit shared memory: tiles of 1,024, sorted each.

Source: N. Satish, M. Harris, M. Garland, Designing efficient sorting algorithms for manycore GPUs, IPDPS 2009, which
mergeSort of NVIDIA's CUDA samples follows: both runs are ranked in each other by binary search.
"""

from __future__ import annotations

import numpy as np

from gpushare.suite.case import Argument, Case, grid_over, output
from gpushare.suite.suite_kernel import Size, SuiteKernel

THREADS = 512
TILE = 2 * THREADS
COUNT = {"small": 9_500, "large": 1 << 24}
KEY_BITS = 12
"""Few distinct keys, so that every tile has equal keys; their values distinguish a stable sort."""


def sorted_tiles(keys: np.ndarray, values: np.ndarray) -> dict[str, np.ndarray]:
    """The reference."""
    tiles = np.arange(keys.size, dtype=np.int64) // TILE
    # Sorts by tile first: the indices of a tile stay in it.
    order = np.argsort(tiles << 32 | keys, kind="stable")
    return {"sorted_keys": keys[order], "sorted_values": values[order]}


def _build(size: Size, random: np.random.Generator) -> Case:
    count = COUNT[size]
    # Up to the largest key there is, with which the kernel fills up the last tile.
    keys = ~(random.integers(0, 1 << KEY_BITS, count, np.uint32) << np.uint32(32 - KEY_BITS))
    values = np.arange(count, dtype=np.uint32)
    return Case(
        grid=grid_over((count,), (TILE,)),
        block=(THREADS, 1, 1),
        arguments=[
            output("sorted_keys", count, np.uint32),
            output("sorted_values", count, np.uint32),
            Argument("keys", keys),
            Argument("values", values),
            Argument("count", np.int32(count)),
        ],
        reference=lambda: sorted_tiles(keys, values),
    )


KERNEL = SuiteKernel(
    "merge_sort", "Merge sort of tiles: binary searches in shared memory", _build, {"CD-search": "MERGE"}
)
