# SPDX-License-Identifier: Apache-2.0
"""Slate's five benchmarks from the suite, each looped for about the same time."""

from __future__ import annotations

from gpushare.operation import Launch
from gpushare.simulation import run
from gpushare.workload import Application, Workload

SUITE = {
    "BS": "black_scholes",
    "GS": "gaussian_fan2",
    "MM": "matrix_product",
    "RG": "quasirandom",
    "TR": "transpose",
}
"""The paper's abbreviation -> the suite's kernel."""

LOOP_NS = 8e6


def looped_suite(device: str, loop_ns: float = LOOP_NS) -> Workload:
    """Each benchmark's launch as often as takes ``loop_ns`` alone; the paper's loops take 30 s."""
    return Workload("slate", tuple(_loop(name, kernel, device, loop_ns) for name, kernel in SUITE.items()))


def _loop(name: str, kernel: str, device: str, loop_ns: float) -> Application:
    launch = Launch.of_suite(kernel)
    once = run(Workload(name, (Application(name, (launch,)),)), "fifo", device=device, record=False)
    return Application(name, max(1, round(loop_ns / once.alone_ns[name])) * (launch,))
