# SPDX-License-Identifier: Apache-2.0
"""Inclusive prefix sum in one pass with decoupled look-back.

Source: D. Merrill, M. Garland, Single-pass parallel prefix scan with decoupled look-back, NVIDIA NVR-2016-002. A block
waits for blocks of smaller index, so blocks have to start in increasing order; the source says why that was chosen.
"""

from __future__ import annotations

import numpy as np

from gpushare.suite.case import Argument, Case, grid_over, output
from gpushare.suite.suite_kernel import Size, SuiteKernel

THREADS = 256
VALUES_PER_TILE = THREADS * 8
COUNT = {"small": 100_000, "large": (1 << 27) - 1_000}


def _build(size: Size, random: np.random.Generator) -> Case:
    count = COUNT[size]
    values = random.integers(-8, 8, count, np.int32, endpoint=True)
    grid = grid_over((count,), (VALUES_PER_TILE,))
    return Case(
        grid=grid,
        block=(THREADS, 1, 1),
        arguments=[
            output("sums", count, np.int32),
            Argument("values", values),
            Argument("tile_states", np.zeros(grid[0], np.uint64), is_updated=True),
            Argument("count", np.int32(count)),
        ],
        reference=lambda: {"sums": np.cumsum(values, dtype=np.int32)},
    )


KERNEL = SuiteKernel(
    "scan_lookback",
    "Single-pass prefix sum: blocks wait for earlier blocks",
    _build,
    {"EffiSha": "Scan"},
    is_layerable=False,
)
