# SPDX-License-Identifier: Apache-2.0
"""Targets of profiling: kernels of the suite, of a workload file, or of a source file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from gpushare._core import InvalidInput
from gpushare.arguments.launch_arguments import Zeros
from gpushare.kernels.kernel import Kernel
from gpushare.model.operation import Launch
from gpushare.model.workload import Workload
from gpushare.suite import KERNELS
from gpushare.suite.arguments import suite_kernel


@dataclass(frozen=True)
class Target:
    """A launch; its data is generated when it is measured."""

    name: str
    make: Callable[[], Launch]


def of_suite(names: Sequence[str], size: str = "large") -> list[Target]:
    """Kernels of the suite by name; without names all of them.

    >>> [target.name for target in of_suite(["triad"])]
    ['triad']
    """
    return [Target(suite_kernel(name).name, partial(_suite_launch, name, size)) for name in names or KERNELS]


def _suite_launch(name: str, size: str) -> Launch:
    known = KERNELS[name]
    case = known.case(size)
    arguments: list[Any] = [
        Zeros(each.value.shape, each.value.dtype) if each.is_output and not each.is_updated else each.value
        for each in case.arguments
    ]
    kernel = Kernel(known.source_path, known.entry)
    return Launch(kernel, grid=case.grid, block=case.block, args=arguments, shared_bytes=case.shared_bytes)


def of_workload(workload: Workload) -> list[Target]:
    """The workload's kernels, each by its largest launch."""
    launches = largest_launches([workload])
    if not launches:
        raise InvalidInput(f"workload {workload.name!r} launches no CUDA code, so there is nothing to measure")
    return [target_of(launch) for launch in launches]


def target_of(launch: Launch) -> Target:
    """The target of an existing launch."""
    return Target(launch.kernel.name, lambda: launch)


def largest_launches(workloads: Iterable[Workload]) -> list[Launch]:
    """The launch with the largest grid for each CUDA kernel and block shape."""
    largest: dict[tuple[Kernel, Any], Launch] = {}
    applications = (application for workload in workloads for application in workload.applications)
    for launch in (launch for application in applications for _, launch in application.launches() if launch.is_real):
        kernel, _, block = launch.cuda
        key = (kernel, block)
        if key not in largest or launch.blocks > largest[key].blocks:
            largest[key] = launch
    return list(largest.values())
