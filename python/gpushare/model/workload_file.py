# SPDX-License-Identifier: Apache-2.0
"""Reads and writes workload files (docs/guide/workloads.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from gpushare.checks import did_you_mean, require
from gpushare.files.schema import checked
from gpushare.files.toml_file import at_key, made_from
from gpushare.kernels.kernel import Kernel
from gpushare.model.argument_file import argument_from_data
from gpushare.model.arrivals_file import requests_of
from gpushare.model.host_pace import HostPace
from gpushare.model.kernel_model import KernelModel
from gpushare.model.operation import Copy, Launch, Operation
from gpushare.model.workload import Application, Workload
from gpushare.model.workload_dict import workload_to_dict
from gpushare.model.workload_schema import ApplicationTable, CudaTable, OperationTable, WorkloadTable

__all__ = ["WorkloadTable", "read_workload", "workload_from_dict", "workload_to_dict"]

Kernels = Mapping[str, "KernelModel | Kernel"]

FORMS: dict[str, tuple[set[str], set[str]]] = {
    "{launch = NAME, blocks = N} for a model": ({"launch", "blocks"}, {"per"}),
    "{launch = NAME, grid = [X, Y, Z], block = [X, Y, Z], args = [...]} for CUDA code": (
        {"launch", "grid", "block"},
        {"args", "shared_bytes"},
    ),
    "{suite = NAME}": ({"suite"}, {"size", "seed", "layers"}),
    "{copy = DIRECTION, bytes = N}": ({"copy_", "bytes"}, {"time_ns", "per"}),
}
"""Required and optional keys of each form of an operation."""
ANYWHERE = {"repeat", "host_ns", "after_ns", "gap_ns"}
"""The optional keys of every operation."""


def read_workload(path: Path) -> Workload:
    """Reads a workload file; InvalidInput names the file, line and key of an error."""
    return made_from(path, WorkloadTable, lambda table: _workload(table, path.parent))


def workload_from_dict(data: Mapping[str, Any]) -> Workload:
    """The inverse of :func:`workload_to_dict`. Paths of CUDA files are relative to the current folder."""
    return _workload(checked(data, WorkloadTable), Path())


def _workload(table: WorkloadTable, folder: Path) -> Workload:
    kernels: dict[str, KernelModel | Kernel] = {}
    for place, kernel in enumerate(table.kernels):
        with at_key("kernel", place, "name"):
            require(kernel.name not in kernels, f"kernel {kernel.name!r} is described twice")
        with at_key("kernel", place):
            kernels[kernel.name] = (
                _cuda(kernel, folder) if isinstance(kernel, CudaTable) else KernelModel(**kernel.model_dump())
            )
    applications = []
    for place, application in enumerate(table.applications):
        with at_key("application", place):
            applications.append(_application(application, kernels, folder))
    return Workload(table.name, tuple(applications), table.device)


def _cuda(table: CudaTable, folder: Path) -> Kernel:
    require(
        (table.source is None) != (table.code is None),
        f"kernel {table.name!r}: give its CUDA code as one of source (a file) and code (the text)",
    )
    source: str | Path = table.code or ""
    if table.source is not None:
        source = folder / table.source
        require(source.is_file(), f"kernel {table.name!r}: source: there is no file {str(source)!r}")
    entry = table.name if table.entry is None else table.entry
    kernel = Kernel(source, entry, options=tuple(table.options), preemptible=table.preemptible)
    kernel._compiled_with(table.names)
    return kernel


def _application(table: ApplicationTable, kernels: Kernels, folder: Path) -> Application:
    parts: list[tuple[Operation, str | None]] = []
    for place, operation in enumerate(table.operations):
        with at_key("operations", place):
            subject = f"application {table.name!r}, operation {place + 1}"
            require(operation.per is None or table.arrivals is not None, f"{subject}: per needs arrivals of a trace")
            parts += operation.repeat * [(_operation(operation, subject, kernels), operation.per)]
    operations = [operation for operation, _ in parts]
    if table.arrivals is not None:
        operations = requests_of(table.arrivals, parts, folder)
    return Application(
        table.name,
        tuple(operations),
        arrival_ns=table.arrival_ns,
        priority=table.priority,
        weight=table.weight,
        memory_bytes=table.memory_bytes,
        deadline_ns=table.deadline_ns,
        min_speed=table.min_speed,
        latency_ns=table.latency_ns,
        owner=table.owner,
    )


def _operation(table: OperationTable, subject: str, kernels: Kernels) -> Operation:
    given = {name for name, value in table if name not in ANYWHERE and value is not None}
    fits = [form for form, (needed, possible) in FORMS.items() if needed <= given <= needed | possible]
    require(bool(fits), f"{subject}: write {' or '.join(FORMS)}")
    if table.copy_ is not None and table.bytes is not None:
        return Copy(table.copy_, table.bytes, time_ns=table.time_ns, pace=_pace(table))
    if table.suite is not None:
        launch = Launch.of_suite(table.suite, table.size or "large", table.seed or 0, table.layers or 1)
        return replace(launch, pace=_pace(table))
    return _launch(table, subject, kernels)


def _pace(table: OperationTable) -> HostPace:
    return HostPace(table.host_ns or 0.0, table.after_ns, table.gap_ns or 0.0)


def _launch(table: OperationTable, subject: str, kernels: Kernels) -> Launch:
    assert table.launch is not None  # as the operation's form requires
    meant = did_you_mean(table.launch, kernels)
    require(
        table.launch in kernels,
        f"{subject}: no kernel {table.launch!r} in this file; it has: {_listed(kernels)}{meant}",
    )
    kernel = kernels[table.launch]
    if isinstance(kernel, KernelModel):
        require(table.blocks is not None, f"{subject}: kernel {table.launch!r} is a model: write blocks = N alone")
        assert table.blocks is not None
        return Launch(kernel, table.blocks, pace=_pace(table))
    require(table.blocks is None, f"{subject}: kernel {table.launch!r} is CUDA code: write grid and block, not blocks")
    args = [argument_from_data(data) for data in table.args or ()]
    shared_bytes = table.shared_bytes or 0
    return Launch(kernel, grid=table.grid, block=table.block, args=args, shared_bytes=shared_bytes, pace=_pace(table))


def _listed(kernels: Kernels) -> str:
    return ", ".join(kernels) or "none"
