# SPDX-License-Identifier: Apache-2.0
"""STREAM triad, one element per thread.

Source: J. D. McCalpin, Memory bandwidth and machine balance in current high performance computers, 1995.
"""

from __future__ import annotations

import numpy as np

from gpushare.suite.case import Argument, Case, grid_over, output
from gpushare.suite.suite_kernel import Size, SuiteKernel
from gpushare.suite.whole_numbers import whole_numbers

THREADS = 256
COUNT = {"small": 1_000, "large": 80_000_003}


def triad(addends: np.ndarray, factors: np.ndarray, scale: np.float32) -> np.ndarray:
    """The reference, exact on whole numbers; triad_vector has the same."""
    return addends + scale * factors


def _build(size: Size, random: np.random.Generator) -> Case:
    count = COUNT[size]
    addends, factors, scale = whole_numbers(random, count), whole_numbers(random, count), np.float32(3)
    return Case(
        grid=grid_over((count,), (THREADS,)),
        block=(THREADS, 1, 1),
        arguments=[
            output("sums", count, np.float32),
            Argument("addends", addends),
            Argument("factors", factors),
            Argument("scale", scale),
            Argument("count", np.int32(count)),
        ],
        reference=lambda: {"sums": triad(addends, factors, scale)},
    )


KERNEL = SuiteKernel(
    "triad",
    "STREAM triad, one element per thread: memory-bound, the shortest blocks",
    _build,
    {"EffiSha": "Triad"},
)
