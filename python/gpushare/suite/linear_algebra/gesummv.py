# SPDX-License-Identifier: Apache-2.0
"""Sum of two matrix-vector products, y = alpha A x + beta B x.

Source: the BLAS extension GESUMMV of L. S. Blackford et al., An updated set of basic linear algebra subprograms, 2002;
a row per thread as in S. Grauer-Gray et al., Auto-tuning a high-level language targeted to GPU codes (PolyBench/GPU),
InPar 2012. There are more rows than columns, so that they fill the GPU.
"""

from __future__ import annotations

import numpy as np

from gpushare.suite.case import Argument, Case, grid_over, output
from gpushare.suite.suite_kernel import Size, SuiteKernel
from gpushare.suite.whole_numbers import whole_numbers

THREADS = 256
SHAPE = {"small": (600, 90), "large": (270_400, 512)}
ALPHA, BETA = np.float32(1.5), np.float32(0.75)


def _build(size: Size, random: np.random.Generator) -> Case:
    rows, columns = SHAPE[size]
    a, b = whole_numbers(random, (rows, columns)), whole_numbers(random, (rows, columns))
    x = whole_numbers(random, columns)
    return Case(
        grid=grid_over((rows,), (THREADS,)),
        block=(THREADS, 1, 1),
        arguments=[
            output("y", rows, np.float32),
            Argument("a", a),
            Argument("b", b),
            Argument("x", x),
            Argument("alpha", ALPHA),
            Argument("beta", BETA),
            Argument("rows", np.int32(rows)),
            Argument("columns", np.int32(columns)),
        ],
        reference=lambda: {"y": ALPHA * (a @ x) + BETA * (b @ x)},
    )


KERNEL = SuiteKernel(
    "gesummv",
    "Two matrix-vector products, a row per thread: uncoalesced reads that live on the caches",
    _build,
    {"CD-search": "GESUMMV"},
)
