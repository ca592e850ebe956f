# SPDX-License-Identifier: Apache-2.0
"""Neural networks, clustering and estimation."""

from gpushare.suite.suite_kernel import SuiteKernel

KERNELS: tuple[SuiteKernel, ...] = ()
