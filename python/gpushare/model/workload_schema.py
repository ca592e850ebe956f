# SPDX-License-Identifier: Apache-2.0
"""The tables and keys of workload files (docs/workloads.md)."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag

from gpushare.files.toml_file import Schema, accepted_by, tag_of
from gpushare.model.argument_file import argument_from_data
from gpushare.model.host_pace import LONGEST_NS
from gpushare.model.kernel_model import (
    DEFAULT_ISSUE_UTILISATION,
    LONGEST_BLOCK_NS,
    MOST_BYTES,
    NUMBER_FIELDS,
    WHOLE_FIELDS,
)
from gpushare.model.launch_arguments import LARGEST_DATA_SEED
from gpushare.model.launch_geometry import block_of, grid_of
from gpushare.model.operation import MOST_BLOCKS, MOST_SHARED_BYTES
from gpushare.model.service_level import DEADLINES_NS, LATENCIES_NS, MIN_SPEEDS, WEIGHTS
from gpushare.model.workload import LATEST_ARRIVAL_NS, PRIORITIES
from gpushare.suite.arguments import MOST_LAYERS, require_size, suite_kernel

MOST_REPEATS = 100_000


def _within(limits: tuple[float, float], default: Any = ..., *, unit: float = 1) -> Any:
    """A key that holds a number within these limits; the classes check them too, but know of no file and line."""
    least, most = limits
    return Field(default, ge=least / unit, le=most / unit)


class ModelTable(Schema):
    """A [[kernel]] of the file that is a model for simulated devices."""

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
    dram_cost_ratio: float = _within(NUMBER_FIELDS["dram_cost_ratio"], 1.0)
    memory_us: float = _within(NUMBER_FIELDS["memory_ns"], 0.0, unit=1e3)
    variation_ratio: float = _within(NUMBER_FIELDS["variation_ratio"], 0.0)
    startup_ratio: float = _within(NUMBER_FIELDS["startup_ratio"], 0.0)
    stagger_ratio: float = _within(NUMBER_FIELDS["stagger_ratio"], 0.0)
    trend_ratio: float = _within(NUMBER_FIELDS["trend_ratio"], 0.0)
    flops: float = _within(NUMBER_FIELDS["flops"], 0.0)


class CudaTable(Schema):
    """A [[kernel]] of the file that is CUDA code, in another file or in this one."""

    name: str
    entry: str | None = None
    source: str | None = None
    code: str | None = None
    options: list[str] = Field([])
    preemptible: bool = True
    names: list[str] = Field([])


def _kind_of_kernel(table: Any) -> str:
    keys = vars(table) if isinstance(table, Schema) else table
    is_cuda = isinstance(keys, dict) and ("source" in keys or "code" in keys)
    return tag_of(CudaTable if is_cuda else ModelTable)


AnyKernelTable = Annotated[
    Annotated[ModelTable, Tag(tag_of(ModelTable))] | Annotated[CudaTable, Tag(tag_of(CudaTable))],
    Discriminator(_kind_of_kernel),
]


class OperationTable(Schema):
    """A launch or a copy; which one, workload_file.py checks."""

    launch: str | None = None
    blocks: int | None = _within((1, MOST_BLOCKS), None)
    copy_: str | None = Field(None, alias="copy")
    bytes: int | None = _within((1, MOST_BYTES), None)
    grid: Annotated[Any, accepted_by(lambda grid: grid_of("grid", grid))] = None
    block: Annotated[Any, accepted_by(lambda block: block_of("block", block))] = None
    args: list[Annotated[Any, accepted_by(argument_from_data)]] | None = None
    shared_bytes: int | None = _within((0, MOST_SHARED_BYTES), None)
    suite: Annotated[Any, accepted_by(suite_kernel)] = None
    size: Annotated[Any, accepted_by(require_size)] = None
    seed: int | None = Field(None, ge=0, le=LARGEST_DATA_SEED)
    layers: int | None = _within((1, MOST_LAYERS), None)
    repeat: int = _within((1, MOST_REPEATS), 1)
    time_us: float | None = _within((1, LONGEST_BLOCK_NS), None, unit=1e3)
    host_us: float | None = _within((0, LONGEST_NS), None, unit=1e3)
    after_us: float | None = _within((0, LONGEST_NS), None, unit=1e3)
    gap_us: float | None = _within((0, LONGEST_NS), None, unit=1e3)


class ApplicationTable(Schema):
    """An [[application]] of the file."""

    name: str
    arrival_us: float = _within((0, LATEST_ARRIVAL_NS), 0.0, unit=1e3)
    priority: int = _within(PRIORITIES, 0)
    weight: float = _within(WEIGHTS, 1.0)
    memory_bytes: int = _within((0, MOST_BYTES), 0)
    deadline_us: float | None = _within(DEADLINES_NS, None, unit=1e3)
    min_speed: float | None = _within(MIN_SPEEDS, None)
    latency_us: float | None = _within(LATENCIES_NS, None, unit=1e3)
    owner: str | None = None
    operations: list[OperationTable]


class WorkloadTable(Schema):
    """The whole file."""

    name: str
    device: str | None = None
    kernels: list[AnyKernelTable] = Field([], alias="kernel")
    applications: list[ApplicationTable] = Field([], alias="application")
