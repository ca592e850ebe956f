# SPDX-License-Identifier: Apache-2.0
"""STREAM triad, two float4 per thread.

Source: J. D. McCalpin, Memory bandwidth and machine balance in current high performance computers, 1995.
"""

from __future__ import annotations

import numpy as np

from gpushare.suite.case import Argument, Case, grid_over, output
from gpushare.suite.primitives.triad import triad
from gpushare.suite.suite_kernel import Size, SuiteKernel
from gpushare.suite.whole_numbers import whole_numbers

THREADS = 256
VECTORS_PER_THREAD = 2
VECTORS = {"small": 700, "large": 20_000_001}


def _build(size: Size, random: np.random.Generator) -> Case:
    shape = (VECTORS[size], 4)
    addends, factors, scale = whole_numbers(random, shape), whole_numbers(random, shape), np.float32(3)
    return Case(
        grid=grid_over((VECTORS[size],), (THREADS * VECTORS_PER_THREAD,)),
        block=(THREADS, 1, 1),
        arguments=[
            output("sums", shape, np.float32),
            Argument("addends", addends),
            Argument("factors", factors),
            Argument("scale", scale),
            Argument("vectors", np.int32(VECTORS[size])),
        ],
        reference=lambda: {"sums": triad(addends, factors, scale)},
    )


KERNEL = SuiteKernel("triad_vector", "STREAM triad, two float4 per thread: memory-bound, longer blocks", _build)
