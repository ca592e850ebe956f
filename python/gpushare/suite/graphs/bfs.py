# SPDX-License-Identifier: Apache-2.0
"""One level of a breadth-first search over a graph in compressed sparse rows, a warp for 32 vertices.

Source: S. Hong et al., Accelerating CUDA graph algorithms at maximum warp, PPoPP 2011, which BFS of SHOC (A. Danalis et
al., The Scalable Heterogeneous Computing benchmark suite, GPGPU 2010) follows; lanes pass each other the edges by
shuffles. The level is the one at which a search of a random graph finds most.
"""

from __future__ import annotations

import numpy as np

from gpushare.suite.case import Argument, Case, grid_over
from gpushare.suite.graphs.ranges import ranges
from gpushare.suite.segments import offsets_of
from gpushare.suite.suite_kernel import Size, SuiteKernel

THREADS = 256
VERTICES = {"small": 3_000, "large": 4_000_000}
MEAN_DEGREE = {"small": 12, "large": 32}
LEVEL = {"small": 2, "large": 4}
UNSEEN = -1


def next_level(levels: np.ndarray, offsets: np.ndarray, neighbours: np.ndarray, level: int) -> np.ndarray:
    """The reference: levels after the unseen neighbours of this level's vertices got the next."""
    frontier = np.flatnonzero(levels == level)
    found = neighbours[ranges(offsets[frontier], np.diff(offsets)[frontier])]
    after = levels.copy()
    after[found[levels[found] == UNSEEN]] = level + 1
    return after


def _build(size: Size, random: np.random.Generator) -> Case:
    vertices, level = VERTICES[size], LEVEL[size]
    # Lengths from 0 on; many are longer than a warp is wide.
    offsets = offsets_of(random.geometric(1 / (1 + MEAN_DEGREE[size]), vertices) - 1)
    neighbours = random.integers(0, vertices, int(offsets[-1]), np.int32)
    levels = np.full(vertices, UNSEEN, np.int32)
    # A root of usual degree: the search grows at the same pace for every seed.
    levels[np.argmin(np.abs(np.diff(offsets) - MEAN_DEGREE[size]))] = 0
    for passed in range(level):
        levels = next_level(levels, offsets, neighbours, passed)

    def reference() -> dict[str, np.ndarray]:
        after = next_level(levels, offsets, neighbours, level)
        return {"levels": after, "goes_on": np.array([(after != levels).any()], np.int32)}

    return Case(
        grid=grid_over((vertices,), (THREADS,)),
        block=(THREADS, 1, 1),
        arguments=[
            Argument("levels", levels, is_output=True, is_updated=True),
            Argument("goes_on", np.zeros(1, np.int32), is_output=True, is_updated=True),
            Argument("offsets", offsets),
            Argument("neighbours", neighbours),
            Argument("vertices", np.int32(vertices)),
            Argument("level", np.int32(level)),
        ],
        reference=reference,
    )


KERNEL = SuiteKernel(
    "bfs",
    "A level of breadth-first search: ballots, shuffles, scattered loads",
    _build,
    {"EffiSha": "BFS"},
    is_layerable=False,
)
