# SPDX-License-Identifier: Apache-2.0
"""Look-ups in a B+ tree, one query per block, one thread per key of a node.

Source: J. Fix, A. Wilkes, K. Skadron, Accelerating braided B+ tree searches on a GPU with CUDA, A4MMC 2011, the findK
kernel of b+tree in Rodinia. Keys and children are arrays of their own.
"""

from __future__ import annotations

import numpy as np

from gpushare.suite.case import Argument, Case, output
from gpushare.suite.suite_kernel import Size, SuiteKernel

ORDER = 256
RECORDS = {"small": 40_000, "large": 16_000_000}
QUERIES = {"small": 60, "large": 200_000}
NO_KEY, LEAST_KEY = np.iinfo(np.int32).max, np.iinfo(np.int32).min
NOT_FOUND = NO_CHILD = -1


def _nodes(keys: np.ndarray, children: np.ndarray, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """One level of the tree: nodes that are at least half full, but for the last."""
    fills = random.integers(ORDER // 2, ORDER, -(-2 * keys.size // ORDER), np.int32, endpoint=True)
    starts = np.concatenate([[0], np.cumsum(fills)])
    starts = starts[starts < keys.size]
    fills = np.diff(starts, append=keys.size)
    places = np.arange(keys.size) + np.repeat(np.arange(starts.size) * ORDER - starts, fills)
    node_keys, node_children = (np.full(starts.size * ORDER, unused, np.int32) for unused in (NO_KEY, NO_CHILD))
    node_keys[places], node_children[places] = keys, children
    return node_keys.reshape(-1, ORDER), node_children.reshape(-1, ORDER)


def tree(keys: np.ndarray, records: np.ndarray, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray, int]:
    """Keys and children of all nodes, the root first, and how many levels lie above the leaves."""
    levels = [_nodes(keys, records, random)]
    while len(levels[-1][0]) > 1:
        first_keys = levels[-1][0][:, 0].copy()
        first_keys[0] = LEAST_KEY  # a query below every key goes left
        levels.append(_nodes(first_keys, np.arange(first_keys.size), random))
    levels.reverse()
    first_nodes = np.cumsum([len(level_keys) for level_keys, _ in levels], dtype=np.int32)
    children = [nodes + first for (_, nodes), first in zip(levels[:-1], first_nodes, strict=False)] + [levels[-1][1]]
    return np.concatenate([level_keys for level_keys, _ in levels]), np.concatenate(children), len(levels) - 1


def lookups(keys: np.ndarray, records: np.ndarray, queries: np.ndarray) -> np.ndarray:
    """The reference, on the sorted keys without a tree."""
    places = np.searchsorted(keys, queries)
    found = places < keys.size
    found[found] = keys[places[found]] == queries[found]
    return np.where(found, records[np.minimum(places, keys.size - 1)], np.int32(NOT_FOUND))


def _build(size: Size, random: np.random.Generator) -> Case:
    keys = np.cumsum(random.integers(1, 128, RECORDS[size]), dtype=np.int32)
    records = random.permutation(keys.size).astype(np.int32)
    half = QUERIES[size] // 2
    queries = np.concatenate([random.choice(keys, half), random.integers(0, keys[-1] + 100, half, np.int32)])
    # The first and the last key, and what lies beyond them.
    queries[:4] = keys[0], keys[0] - 1, keys[-1], keys[-1] + 1
    node_keys, children, depth = tree(keys, records, random)
    return Case(
        grid=(queries.size, 1, 1),
        block=(ORDER, 1, 1),
        arguments=[
            output("records", queries.size, np.int32),
            Argument("queries", queries),
            Argument("keys", node_keys),
            Argument("children", children),
            Argument("depth", np.int32(depth)),
        ],
        reference=lambda: {"records": lookups(keys, records, queries)},
    )


KERNEL = SuiteKernel("b_plus_tree", "Look-ups in a B+ tree: one thread per key of a node", _build, {"CuMAS": "b+tree"})
