# SPDX-License-Identifier: Apache-2.0
"""Systematic resampling of a particle filter.

Source: G. Kitagawa, Monte Carlo filter and smoother for non-Gaussian nonlinear state space models, 1996; with the
search from the start in M. A. Goodrum et al., Parallelization of particle filter algorithms, 2010, the "particlefilter"
of the Rodinia suite.
"""

from __future__ import annotations

import numpy as np

from gpushare.suite.case import Argument, Case, grid_over, output
from gpushare.suite.suite_kernel import Size, SuiteKernel

THREADS = 128
PARTICLES = {"small": 700, "large": 300_000}
LAST_SUM = 0.99
"""Sum of the weights, below 1 as after many rounded additions: the last thresholds find no particle."""


def chosen_by(thresholds: np.ndarray, cumulative_weights: np.ndarray) -> np.ndarray:
    """The reference: the particle of each threshold.

    >>> chosen_by(np.array([0.1, 0.5, 0.6, 0.95]), np.array([0.5, 0.75, 0.875]))
    array([0, 0, 1, 2])
    """
    return np.minimum(np.searchsorted(cumulative_weights, thresholds, side="left"), len(cumulative_weights) - 1)


def _build(size: Size, random: np.random.Generator) -> Case:
    count = PARTICLES[size]
    cumulative = np.cumsum(random.exponential(size=count))
    cumulative_weights = (LAST_SUM * cumulative / cumulative[-1]).astype(np.float32)
    thresholds = ((np.arange(count) + random.random()) / count).astype(np.float32)
    x, y = (random.uniform(0, 1_000, count).astype(np.float32) for _ in range(2))

    def reference() -> dict[str, np.ndarray]:
        chosen = chosen_by(thresholds, cumulative_weights)
        return {"new_x": x[chosen], "new_y": y[chosen]}

    return Case(
        grid=grid_over((count,), (THREADS,)),
        block=(THREADS, 1, 1),
        arguments=[
            output("new_x", count, np.float32),
            output("new_y", count, np.float32),
            Argument("x", x),
            Argument("y", y),
            Argument("cumulative_weights", cumulative_weights),
            Argument("thresholds", thresholds),
            Argument("particles", np.int32(count)),
        ],
        reference=reference,
    )


KERNEL = SuiteKernel(
    "particle_filter",
    "Resampling by search from the start: loops that end early, blocks from microseconds to milliseconds",
    _build,
    {"CuMAS": "particlefilter"},
)
