# SPDX-License-Identifier: Apache-2.0
"""Slate's five benchmarks from the suite, each looped for about the same time."""

from __future__ import annotations

from collections.abc import Mapping

from gpushare import _core
from gpushare.cuda_device import cuda_device, is_cuda
from gpushare.device import device as find_device
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


def looped_suite(device: str, kernels: Mapping[str, str] = SUITE, loop_ns: float = LOOP_NS) -> Workload:
    """Each kernel's launch as often as takes ``loop_ns`` alone; the paper's loops take 30 s."""
    return Workload("slate", tuple(_loop(name, kernel, device, loop_ns) for name, kernel in kernels.items()))


def _loop(name: str, kernel: str, device: str, loop_ns: float) -> Application:
    launch = Launch.of_suite(kernel)
    once = run(Workload(name, (Application(name, (launch,)),)), "fifo", device=device, record=False)
    return Application(name, max(1, round(loop_ns / once.alone_ns[name])) * (launch,))


def core_launches(benchmarks: Workload, device: str) -> dict[str, _core.Launch]:
    """By application, its launch as policies see it."""
    found: dict[str, _core.Launch] = {}
    where = find_device(device)
    for application in benchmarks.applications:
        launch = application.operations[0]
        assert isinstance(launch, Launch)
        found[application.name] = (
            _core.Launch(cuda_device(device).model(launch), launch.blocks) if is_cuda(device) else launch.on(where)
        )
    return found
