# SPDX-License-Identifier: Apache-2.0
"""Several workloads as one: recordings of programs that ran one by one, as if they shared the GPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpushare._core import InvalidInput
from gpushare.kernel_model import KernelModel, require
from gpushare.operation import Launch, Operation
from gpushare.workload import Application, Workload


def together(workloads: Sequence[Workload], name: str | None = None) -> Workload:
    """The applications of all of them, each arriving when it does in its own workload.

    Applications and kernel models whose names are taken get a number.

    Args:
        workloads: at least one.
        name: of the new workload; by default theirs, with ``" + "`` between them.

    Raises:
        InvalidInput: there is none, or something else among them.

    >>> from gpushare import bundled_workload
    >>> both = together([bundled_workload("suite_pair"), bundled_workload("suite_pair")])
    >>> [application.name for application in both.applications]
    ['long', 'short', 'long-2', 'short-2']
    """
    if not isinstance(workloads, Sequence) or not all(isinstance(each, Workload) for each in workloads):
        raise InvalidInput(f"together: workloads must be a list of gpushare.Workload, got {workloads!r}")
    require(len(workloads) > 0, "there is no workload to be put together")
    kernels: dict[str, KernelModel] = {}
    applications = [each for workload in workloads for each in _with_own_kernels(workload, kernels)]
    names = unique_names([application.name for application in applications])
    renamed = [replace(application, name=each) for application, each in zip(applications, names, strict=True)]
    devices = {workload.device for workload in workloads}
    called = " + ".join(workload.name for workload in workloads) if name is None else name
    return Workload(called, tuple(renamed), devices.pop() if len(devices) == 1 else None)


def unique_names(names: Sequence[str]) -> list[str]:
    """Each once: the second `a` is `a-2`, and the streams of a second `s` are `s-2/1`, `s-2/2`...

    >>> unique_names(["a", "b", "a", "s/1", "s/2", "s/1"])
    ['a', 'b', 'a-2', 's/1', 's/2', 's-2/1']
    """
    used: set[str] = set()
    found = []
    for name in names:
        chosen, number = name, 2
        program, slash, stream = name.partition("/")
        while chosen in used:
            chosen = f"{program}-{number}{slash}{stream}"
            number += 1
        used.add(chosen)
        found.append(chosen)
    return found


def _with_own_kernels(workload: Workload, kernels: dict[str, KernelModel]) -> list[Application]:
    """Its applications, with models that no others in ``kernels``, to which they are added, are called like."""
    known: dict[KernelModel, KernelModel] = {}

    def named(operation: Operation) -> Operation:
        if not isinstance(operation, Launch) or not isinstance(operation.kernel, KernelModel):
            return operation
        kernel = operation.kernel
        if kernel not in known:
            known[kernel] = _named(kernel, kernels)
        return operation if known[kernel] is kernel else replace(operation, kernel=known[kernel])

    return [
        replace(application, operations=tuple(named(operation) for operation in application.operations))
        for application in workload.applications
    ]


def _named(kernel: KernelModel, kernels: dict[str, KernelModel]) -> KernelModel:
    chosen, number = kernel, 2
    while kernels.setdefault(chosen.name, chosen) != chosen:
        chosen = replace(kernel, name=f"{kernel.name} {number}")
        number += 1
    return chosen
