# SPDX-License-Identifier: Apache-2.0
"""The file format of workloads (docs/workloads.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from pydantic import Field

from gpushare._core import InvalidInput
from gpushare.kernel_model import DEFAULT_ISSUE_UTILISATION, MOST_BYTES, NUMBER_FIELDS, WHOLE_FIELDS, KernelModel
from gpushare.toml_file import Schema, checked, read_toml
from gpushare.workload import (
    LATEST_ARRIVAL_NS,
    MOST_BLOCKS,
    PRIORITIES,
    WEIGHTS,
    Application,
    Copy,
    Launch,
    Operation,
    Workload,
)


def _within(limits: tuple[float, float], default: Any = ..., *, unit: float = 1) -> Any:
    """A key that holds a number within these limits; the classes check them too, but know of no file and line."""
    least, most = limits
    return Field(default, ge=least / unit, le=most / unit)


class KernelTable(Schema):
    """A [[kernel]] of the file."""

    name: str
    threads: int = _within(WHOLE_FIELDS["threads"])
    registers_per_thread: int = _within(WHOLE_FIELDS["registers_per_thread"], 0)
    shared_memory_bytes: int = _within(WHOLE_FIELDS["shared_memory_bytes"], 0)
    latency_us: float | None = _within(NUMBER_FIELDS["latency_ns"], None, unit=1e3)
    issue_us: float = _within(NUMBER_FIELDS["issue_ns"], 0.0, unit=1e3)
    mean_block_time_us: float | None = _within(NUMBER_FIELDS["mean_block_time_ns"], None, unit=1e3)
    mean_block_time_cycles: float | None = _within(NUMBER_FIELDS["mean_block_time_cycles"], None)
    issue_utilisation_ratio: float = _within(NUMBER_FIELDS["issue_utilisation_ratio"], DEFAULT_ISSUE_UTILISATION)
    off_sm_bytes: int = _within(WHOLE_FIELDS["off_sm_bytes"], 0)
    llc_hit_ratio: float = _within(NUMBER_FIELDS["llc_hit_ratio"], 0.0)
    variation_ratio: float = _within(NUMBER_FIELDS["variation_ratio"], 0.0)
    startup_ratio: float = _within(NUMBER_FIELDS["startup_ratio"], 0.0)


class OperationTable(Schema):
    """A launch or a copy; which one, _operation() checks."""

    launch: str | None = None
    blocks: int | None = _within((1, MOST_BLOCKS), None)
    copy_: str | None = Field(None, alias="copy")
    bytes: int | None = _within((1, MOST_BYTES), None)


class ApplicationTable(Schema):
    """An [[application]] of the file."""

    name: str
    arrival_us: float = _within((0, LATEST_ARRIVAL_NS), 0.0, unit=1e3)
    priority: int = _within(PRIORITIES, 0)
    weight: float = _within(WEIGHTS, 1.0)
    operations: list[OperationTable]


class WorkloadTable(Schema):
    """The whole file."""

    name: str
    device: str | None = None
    kernels: list[KernelTable] = Field([], alias="kernel")
    applications: list[ApplicationTable] = Field([], alias="application")


def read_workload(path: Path) -> Workload:
    """The workload in this file; InvalidInput names file, line and key of what is wrong."""
    table = read_toml(path, WorkloadTable)
    try:
        return _workload(table)
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error}") from error


def workload_from_dict(data: Mapping[str, Any]) -> Workload:
    """The inverse of :func:`workload_to_dict`."""
    return _workload(checked(data, WorkloadTable))


def workload_to_dict(workload: Workload) -> dict[str, Any]:
    """The workload in the structure of its file format, without what is at its default."""
    kernels: dict[str, KernelModel] = {}
    for application in workload.applications:
        for operation in application.operations:
            if isinstance(operation, Launch):
                known = kernels.setdefault(operation.kernel.name, operation.kernel)
                if known != operation.kernel:
                    raise InvalidInput(f"workload {workload.name!r}: two kernels share the name {known.name!r}")
    data: dict[str, Any] = {"name": workload.name}
    if workload.device:
        data["device"] = workload.device
    data["kernel"] = [_kernel_to_dict(kernel) for kernel in kernels.values()]
    data["application"] = [_application_to_dict(application) for application in workload.applications]
    return data


def _kernel_to_dict(kernel: KernelModel) -> dict[str, Any]:
    defaults = {field.name: field.default for field in fields(KernelModel)}
    data: dict[str, Any] = {}
    for name, value in asdict(kernel).items():
        if value == defaults[name]:
            continue
        if name.endswith("_ns"):
            data[name.removesuffix("_ns") + "_us"] = value / 1e3
        else:
            data[name] = float(value) if name == "mean_block_time_cycles" else value
    return data


def _application_to_dict(application: Application) -> dict[str, Any]:
    return {
        "name": application.name,
        "arrival_us": application.arrival_ns / 1e3,
        "priority": application.priority,
        "weight": application.weight,
        "operations": [_operation_to_dict(operation) for operation in application.operations],
    }


def _operation_to_dict(operation: Operation) -> dict[str, Any]:
    if isinstance(operation, Launch):
        return {"launch": operation.kernel.name, "blocks": operation.blocks}
    return {"copy": operation.direction, "bytes": operation.bytes}


def _workload(table: WorkloadTable) -> Workload:
    kernels: dict[str, KernelModel] = {}
    for kernel in table.kernels:
        if kernel.name in kernels:
            raise InvalidInput(f"kernel {kernel.name!r} is described twice")
        kernels[kernel.name] = _kernel(kernel)
    applications = tuple(_application(application, kernels) for application in table.applications)
    return Workload(table.name, applications, table.device)


def _kernel(table: KernelTable) -> KernelModel:
    values = table.model_dump()
    for name in ("latency", "issue", "mean_block_time"):
        microseconds = values.pop(f"{name}_us")
        values[f"{name}_ns"] = None if microseconds is None else microseconds * 1e3
    return KernelModel(**values)


def _application(table: ApplicationTable, kernels: dict[str, KernelModel]) -> Application:
    operations = [
        _operation(operation, f"application {table.name!r}, operation {number}", kernels)
        for number, operation in enumerate(table.operations, 1)
    ]
    return Application(table.name, tuple(operations), table.arrival_us * 1e3, table.priority, table.weight)


def _operation(table: OperationTable, subject: str, kernels: dict[str, KernelModel]) -> Operation:
    if table.launch is not None and table.blocks is not None and table.copy_ is None and table.bytes is None:
        if table.launch not in kernels:
            known = ", ".join(kernels) or "none"
            raise InvalidInput(f"{subject}: no kernel {table.launch!r} in this file; it has: {known}")
        return Launch(kernels[table.launch], table.blocks)
    if table.copy_ is not None and table.bytes is not None and table.launch is None and table.blocks is None:
        return Copy(table.copy_, table.bytes)
    raise InvalidInput(f"{subject}: write {{launch = NAME, blocks = N}} or {{copy = DIRECTION, bytes = N}}")
