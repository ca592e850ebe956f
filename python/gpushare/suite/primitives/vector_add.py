# SPDX-License-Identifier: Apache-2.0
"""The sum of two vectors, one element per thread. One rounded addition each: both sides get the same bits.

Source: vectorAdd of NVIDIA's CUDA samples.
"""

from __future__ import annotations

import numpy as np

from gpushare.suite.case import Argument, Case, grid_over, output
from gpushare.suite.suite_kernel import Size, SuiteKernel

THREADS = 256
COUNT = {"small": 5_000, "large": 100_000_000}


def _build(size: Size, random: np.random.Generator) -> Case:
    count = COUNT[size]
    augends, addends = (random.random(count, np.float32) for _ in range(2))
    return Case(
        grid=grid_over((count,), (THREADS,)),
        block=(THREADS, 1, 1),
        arguments=[
            output("sums", count, np.float32),
            Argument("augends", augends),
            Argument("addends", addends),
            Argument("count", np.int32(count)),
        ],
        reference=lambda: {"sums": augends + addends},
    )


KERNEL = SuiteKernel("vector_add", "a + b: the shortest blocks, all bandwidth", _build, {"CuMAS": "vectorAdd"})
