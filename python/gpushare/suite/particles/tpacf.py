# SPDX-License-Identifier: Apache-2.0
"""Two-point angular correlation of points on the sky: histograms of the angles between all pairs.

Source: S. D. Landy, A. S. Szalay, Bias and variance of angular correlation functions, 1993 (pairs within the observed
set, with random sets, and within those); one block per pair of sets as in "tpacf" of J. A. Stratton et al., Parboil,
2012. The directions are lattice points of a sphere, so their dot products are whole numbers: the counts are exact.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from gpushare.suite.case import Argument, Case, output
from gpushare.suite.suite_kernel import Size, SuiteKernel

THREADS = 256
BINS = 32
BINS_PER_DECADE = 8
FIRST_FAR_BIN = 24  # 1000 arc minutes
POINTS = {"small": 270, "large": 600}
RANDOM_SETS = {"small": 2, "large": 800}
RADIUS = 2_027
"""A prime with some 12,000 lattice points on its sphere. Sums of their products stay below RADIUS^2 < 2^24."""


@cache
def lattice_points(radius: int) -> np.ndarray:
    """All whole (x, y, z) at that distance from the origin; for growing radii they spread evenly (W. Duke, 1988).

    >>> len(lattice_points(3)), (lattice_points(3) ** 2).sum(axis=1).min()
    (30, np.int64(9))
    """
    whole = np.arange(-radius, radius + 1)
    squares = radius**2 - whole[:, np.newaxis] ** 2 - whole**2
    roots = np.sqrt(np.maximum(squares, 0)).astype(np.int64)
    x, y = np.nonzero(roots**2 == squares)
    z = roots[x, y]
    upper = np.column_stack([whole[x], whole[y], z])
    return np.concatenate([upper, upper[z > 0] * [1, 1, -1]])


def bounds_of_bins() -> np.ndarray:
    """Dot products at the borders of the bins, in angles from 10^(1/8) arc minutes on, eight to a decade."""
    angles = np.radians(10 ** (np.arange(1, BINS) / BINS_PER_DECADE) / 60)
    return (RADIUS**2 * np.cos(angles)).astype(np.float32)


def histograms_of(sets: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """The reference: the histogram of every block."""
    observed, random_sets = sets[0], sets[1:]
    within = [_pairs_within(each, bounds) for each in sets]
    between = [_ordered_pairs(observed, each, bounds) for each in random_sets]
    return np.array([within[0], *between, *within[1:]], np.uint32)


def _ordered_pairs(left: np.ndarray, right: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    products = left @ right.T
    near, far = np.split(bounds, [FIRST_FAR_BIN])
    # Few pairs are near each other, and only those are compared with the many bounds there.
    nearby = products[products >= near[-1]]
    counts = [*(np.count_nonzero(nearby >= bound) for bound in near)]
    counts += [np.count_nonzero(products >= bound) for bound in far]
    return np.diff([0, *counts, products.size])


def _pairs_within(points: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    with_itself = np.zeros(BINS, np.int64)
    with_itself[0] = len(points)
    return (_ordered_pairs(points, points, bounds) - with_itself) // 2


def _observed(random: np.random.Generator, points: np.ndarray, count: int) -> np.ndarray:
    # Galaxies cluster: the points nearest to a few centres, by a product that varies from point to point.
    centres = random.choice(points, 8)
    nearness = (points @ centres.T).max(axis=1) * random.uniform(0.5, 1, len(points))
    return points[np.argsort(-nearness)[:count]]


def _build(size: Size, random: np.random.Generator) -> Case:
    count, random_sets = POINTS[size], RANDOM_SETS[size]
    points = lattice_points(RADIUS)
    drawn = [points[random.choice(len(points), count, replace=False)] for _ in range(random_sets)]
    sets = np.array([_observed(random, points, count), *drawn], np.float32)
    bounds = bounds_of_bins()
    blocks = 1 + 2 * random_sets
    return Case(
        grid=(blocks, 1, 1),
        block=(THREADS, 1, 1),
        arguments=[
            output("histograms", (blocks, BINS), np.uint32),
            *(Argument(name, np.ascontiguousarray(sets[..., axis])) for axis, name in enumerate("xyz")),
            Argument("bounds", bounds),
            Argument("points", np.int32(count)),
            Argument("random_sets", np.int32(random_sets)),
        ],
        reference=lambda: {"histograms": histograms_of(sets, bounds)},
    )


KERNEL = SuiteKernel(
    "tpacf",
    "Angles between all pairs of points: binary search and shared atomics, blocks of two lengths",
    _build,
    {"CD-search": "TPACF"},
)
