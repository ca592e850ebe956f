# SPDX-License-Identifier: Apache-2.0
"""Cheapest paths down a grid by dynamic programming, several rows a launch on overlapping tiles.

Source: PATHFINDER of Rodinia (S. Che et al., Rodinia: a benchmark suite for heterogeneous computing, IISWC 2009); the
tiles and their ghost zones as J. Meng, K. Skadron, Performance modeling and automatic ghost zone optimization for
iterative stencil loops on GPUs, ICS 2009.
"""

from __future__ import annotations

import numpy as np

from gpushare.suite.case import Argument, Case, grid_over, output
from gpushare.suite.suite_kernel import Size, SuiteKernel

THREADS = 256
ROWS = {"small": 20, "large": 20}
COLUMNS = {"small": 1_000, "large": 12_000_000}
LARGEST_WEIGHT = 10
UNREACHABLE = np.iinfo(np.int32).max


def costs_below(costs: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The reference: each column of a row is reached from the three above it."""
    for row in weights:
        sides = np.pad(costs, 1, constant_values=UNREACHABLE)
        costs = np.minimum(np.minimum(sides[:-2], costs), sides[2:]) + row
    return costs


def _build(size: Size, random: np.random.Generator) -> Case:
    rows, columns = ROWS[size], COLUMNS[size]
    weights = random.integers(0, LARGEST_WEIGHT, (rows, columns), np.int32)
    # As after many rows: neighbouring columns cost about the same.
    costs = random.integers(1_000, 1_000 + 4 * LARGEST_WEIGHT, columns, np.int32)
    return Case(
        grid=grid_over((columns,), (THREADS - 2 * rows,)),
        block=(THREADS, 1, 1),
        arguments=[
            output("costs_after", columns, np.int32),
            Argument("costs_before", costs),
            Argument("weights", weights),
            Argument("rows", np.int32(rows)),
            Argument("columns", np.int32(columns)),
        ],
        reference=lambda: {"costs_after": costs_below(costs, weights)},
    )


KERNEL = SuiteKernel(
    "pathfinder",
    "Cheapest paths down a grid: tiles with ghost zones, a barrier a row",
    _build,
    {"CD-search": "PATHFINDER", "CuMAS": "pathfinder"},
)
