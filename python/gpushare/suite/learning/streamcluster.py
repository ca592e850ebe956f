# SPDX-License-Identifier: Apache-2.0
"""Clustering of a stream of points: the saving of a further centre.

Source: L. O'Callaghan et al., Streaming-data algorithms for high-quality clustering, ICDE 2002 (the gain of a candidate
in its local search); a thread per point and coordinates stored dimension by dimension as in "streamcluster" of S. Che
et al., Rodinia: a benchmark suite for heterogeneous computing, IISWC 2009.
"""

from __future__ import annotations

import numpy as np

from gpushare.suite.case import Argument, Case, grid_over, output
from gpushare.suite.suite_kernel import Size, SuiteKernel
from gpushare.suite.whole_numbers import LARGEST, whole_numbers

THREADS = 512
POINTS = {"small": 1_300, "large": 1_000_000}
DIMENSIONS = {"small": 40, "large": 256}
CENTRES = 10
MEAN_SQUARE = 2 * LARGEST * (LARGEST + 1) // 3
"""Mean square of the difference of two whole numbers from -8 to 8."""


def switched(
    coordinates: np.ndarray, weights: np.ndarray, costs: np.ndarray, centres: np.ndarray, candidate: int
) -> dict[str, np.ndarray]:
    """The reference."""
    distances = np.zeros(len(weights), np.float32)
    for row in coordinates:
        distances += (row - row[candidate]) ** 2
    saving = costs - distances * weights
    is_switching = saving > 0
    savings = np.zeros((len(weights), CENTRES + 1), np.float32)
    savings[np.arange(len(weights)), np.where(is_switching, CENTRES, centres)] = saving
    return {"savings": savings, "switches": is_switching.astype(np.uint8)}


def _build(size: Size, random: np.random.Generator) -> Case:
    count, dimensions = POINTS[size], DIMENSIONS[size]
    coordinates = whole_numbers(random, (dimensions, count))
    weights = random.integers(1, 4, count).astype(np.float32)
    # Around the distance of two points from each other, so that about half of them switch.
    least, most = dimensions * MEAN_SQUARE // 2, dimensions * MEAN_SQUARE * 3 // 2
    costs = random.integers(least, most, count).astype(np.float32) * weights
    points = {"weights": weights, "costs": costs, "centres": random.integers(0, CENTRES, count, np.int32)}
    candidate = int(random.integers(count))
    return Case(
        grid=grid_over((count,), (THREADS,)),
        block=(THREADS, 1, 1),
        arguments=[
            Argument("savings", np.zeros((count, CENTRES + 1), np.float32), is_output=True, is_updated=True),
            output("switches", count, np.uint8),
            Argument("coordinates", coordinates),
            *(Argument(name, values) for name, values in points.items()),
            Argument("candidate", np.int32(candidate)),
            Argument("points", np.int32(count)),
            Argument("dimensions", np.int32(dimensions)),
            Argument("centre_count", np.int32(CENTRES)),
        ],
        reference=lambda: switched(coordinates, **points, candidate=candidate),
        shared_bytes=4 * dimensions,
    )


KERNEL = SuiteKernel(
    "streamcluster",
    "Points that a further cluster centre would take over: streams coordinates, dynamic shared memory",
    _build,
    {"CD-search": "SC"},
)
