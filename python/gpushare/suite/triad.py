# SPDX-License-Identifier: Apache-2.0
"""STREAM triad, one element per thread.

Source: J. D. McCalpin, Memory bandwidth and machine balance in current high performance computers, 1995.
"""

from __future__ import annotations

import numpy as np

from gpushare.kernel_model import ceildiv
from gpushare.suite.case import Argument, Case, output
from gpushare.suite.suite_kernel import Size, SuiteKernel
from gpushare.suite.whole_numbers import whole_numbers

THREADS = 256
COUNT = {"small": 1_000, "large": 80_000_003}
