# SPDX-License-Identifier: Apache-2.0
"""Merges workloads: programs that were recorded one by one share the GPU in one workload."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from gpushare._core import InvalidInput
from gpushare.checks import require
from gpushare.model.kernel_model import KernelModel
from gpushare.model.operation import Launch, Operation
from gpushare.model.workload import Application, Workload


def together(workloads: Sequence[Workload], name: str | None = None) -> Workload:
    """Merges workloads: the result has the applications of all, each with its arrival time in its own workload.

    Kernel models with a name that is taken get a number, and so do programs (the part of an application's name before a
    ``/``).

    Args:
        workloads: at least one workload.
        name: name of the new workload; by default the names of the parts, joined with ``" + "``.

    Raises:
        InvalidInput: the list is empty, or an element is not a workload.

    >>> from gpushare import bundled_workload
    >>> both = together([bundled_workload("suite_pair"), bundled_workload("suite_pair")])
    >>> [application.name for application in both.applications]
    ['long', 'short', 'long-2', 'short-2']
    """
    if not isinstance(workloads, Sequence) or not all(isinstance(each, Workload) for each in workloads):
        raise InvalidInput(f"together: workloads must be a list of gpushare.Workload, got {workloads!r}")
    require(len(workloads) > 0, "together: expected at least one workload, got none")
    kernels: dict[str, KernelModel] = {}
    names = unique_names([[application.name for application in workload.applications] for workload in workloads])
    renamed = [
        replace(application, name=name)
        for workload, own_names in zip(workloads, names, strict=True)
        for application, name in zip(_with_own_kernels(workload, kernels), own_names, strict=True)
    ]
    devices = {workload.device for workload in workloads}
    called = " + ".join(workload.name for workload in workloads) if name is None else name
    return Workload(called, tuple(renamed), devices.pop() if len(devices) == 1 else None)


def unique_names(sources: Sequence[Sequence[str]]) -> list[list[str]]:
    """The names of every source, changed so that no two sources have a program of the same name.

    A name is ``PROGRAM`` or ``PROGRAM/STREAM``. The second program `a` becomes `a-2`, with all of its streams, because
    policies treat streams with the same program name as one program.

    Args:
        sources: per source its names, without duplicates.

    >>> unique_names([["a", "s/1"], ["a", "s/1", "s/2"]])
    [['a', 's/1'], ['a-2', 's-2/1', 's-2/2']]
    """
    taken: set[str] = set()
    found = []
    for names in sources:
        own = dict.fromkeys(_program(name) for name in names)
        called = {program: _free(program, taken, own) for program in own}
        taken.update(called.values())
        found.append([called[_program(name)] + name.removeprefix(_program(name)) for name in names])
    return found


def _program(name: str) -> str:
    return name.partition("/")[0]


def _free(program: str, taken: Collection[str], own: Collection[str]) -> str:
    """A name for this program that is neither taken nor used by another program of its source."""
    chosen, number = program, 2
    while chosen in taken or (chosen != program and chosen in own):
        chosen = f"{program}-{number}"
        number += 1
    return chosen


def _with_own_kernels(workload: Workload, kernels: dict[str, KernelModel]) -> list[Application]:
    """The workload's applications, with model names that are not in ``kernels``; adds the models to ``kernels``."""
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
