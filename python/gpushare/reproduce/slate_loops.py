# SPDX-License-Identifier: Apache-2.0
"""Slate's five benchmarks from the suite, each looped for about the same time."""

from __future__ import annotations

from collections.abc import Mapping

from gpushare import _core
from gpushare.backends.cuda.device import cuda_device, is_cuda
from gpushare.device import device as find_device
from gpushare.model.operation import Launch
from gpushare.model.workload import Application, Workload
from gpushare.run import run
from gpushare.suite import KERNELS

SUITE = {
    "BS": "black_scholes",
    "GS": "gaussian_fan2",
    "MM": "matrix_product",
    "RG": "quasirandom",
    "TR": "transpose",
}
"""The paper's abbreviation -> the suite's kernel."""

LOOP_NS = 8e6


def looped_suite(
    device: str, kernels: Mapping[str, str] = SUITE, loop_ns: float = LOOP_NS, launch_ns: float = 0.0
) -> Workload:
    """Each kernel's launch as often as takes ``loop_ns`` alone; the paper's loops take 30 s.

    Where the kernel may have layers a launch takes about ``launch_ns``, if that is more than it does by itself.
    """
    return Workload("slate", tuple(_loop(name, kernel, device, loop_ns, launch_ns) for name, kernel in kernels.items()))


def _loop(name: str, kernel: str, device: str, loop_ns: float, launch_ns: float) -> Application:
    once = Workload(name, (Application(name, (Launch.of_suite(kernel),)),))
    alone_ns = run(once, "fifo", device=device, record=False).alone_ns[name]
    layers = max(1, round(launch_ns / alone_ns)) if KERNELS[kernel].is_layerable else 1
    launches = max(1, round(loop_ns / (layers * alone_ns)))
    return Application(name, launches * (Launch.of_suite(kernel, layers=layers),))


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
