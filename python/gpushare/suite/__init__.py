# SPDX-License-Identifier: Apache-2.0
"""CUDA kernels with known results, for tests and benchmarks: a ``.cu`` file and a ``.py`` file of the same name each.

>>> KERNELS["scan_lookback"].summary
'Single-pass prefix sum: blocks wait for earlier blocks'
"""

from importlib import import_module

from gpushare.suite.case import Argument, Case
from gpushare.suite.suite_kernel import Size, SuiteKernel

KERNELS: dict[str, SuiteKernel] = {
    name: import_module(f"gpushare.suite.{name}").KERNEL
    for name in (
        "triad",
        "triad_vector",
        "transpose",
        "matrix_product",
        "stencil_2d",
        "stencil_3d",
        "black_scholes",
        "nbody",
        "mandelbrot",
        "reduction",
        "histogram",
        "gaussian_fan2",
        "scan_lookback",
        "early_return",
        "spmv_csr",
        "philox_random",
    )
}
"""Every kernel of the suite by its name."""

__all__ = ["KERNELS", "Argument", "Case", "Size", "SuiteKernel"]
