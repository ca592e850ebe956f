# SPDX-License-Identifier: Apache-2.0
"""Sums of ragged segments; threads return in the middle of a warp, ahead of barriers that the others meet.

Source: the tree of M. Harris, Optimizing parallel reduction in CUDA, 2007, cut to each segment's own length. That a
barrier counts only the threads that have not returned: CUDA C++ Programming Guide, "Independent Thread Scheduling".
"""

from __future__ import annotations

import numpy as np

from gpushare.suite.case import Argument, Case, output
from gpushare.suite.segments import offsets_of, segment_sums
from gpushare.suite.suite_kernel import Size, SuiteKernel
from gpushare.suite.whole_numbers import whole_numbers

THREADS = 256
SEGMENTS = {"small": 60, "large": 300_000}
MEAN_LENGTH = 300


def _build(size: Size, random: np.random.Generator) -> Case:
    # Mostly shorter than a block, some several blocks long, a few empty.
    lengths = random.geometric(1 / MEAN_LENGTH, SEGMENTS[size]) - 1
    lengths[:: SEGMENTS[size] // 10] = 0
    offsets = offsets_of(lengths)
    values = whole_numbers(random, int(offsets[-1]))
    return Case(
        grid=(SEGMENTS[size], 1, 1),
        block=(THREADS, 1, 1),
        arguments=[
            output("segment_sums", SEGMENTS[size], np.float32),
            Argument("values", values),
            Argument("offsets", offsets),
        ],
        reference=lambda: {"segment_sums": segment_sums(values, offsets)},
    )


KERNEL = SuiteKernel("early_return", "Ragged segment sums: threads return between barriers", _build)
