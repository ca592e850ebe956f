# SPDX-License-Identifier: Apache-2.0
"""CUDA kernels with known results, for tests and benchmarks: a ``.cu`` and a ``.py`` file each, in folders by field.

>>> KERNELS["scan_lookback"].summary
'Single-pass prefix sum: blocks wait for earlier blocks'
"""

from importlib import import_module

from gpushare.suite.case import Argument, Case
from gpushare.suite.suite_kernel import Size, SuiteKernel

FIELDS = (
    "primitives",
    "linear_algebra",
    "stencils",
    "particles",
    "imaging",
    "finance",
    "cryptography",
    "graphs",
    "learning",
)
"""The folders, one per field."""

KERNELS: dict[str, SuiteKernel] = {
    kernel.name: kernel for field in FIELDS for kernel in import_module(f"gpushare.suite.{field}").KERNELS
}
"""Every kernel of the suite by its name."""

__all__ = ["FIELDS", "KERNELS", "Argument", "Case", "Size", "SuiteKernel"]
