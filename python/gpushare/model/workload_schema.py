# SPDX-License-Identifier: Apache-2.0
"""Tables and keys of workload files (docs/guide/workloads.md)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from gpushare.arguments.launch_arguments import LARGEST_DATA_SEED
from gpushare.arguments.launch_geometry import block_of, grid_of
from gpushare.checks import MOST_BYTES
from gpushare.files.schema import Schema, accepted_by, tag_of
from gpushare.model.argument_file import argument_from_data
from gpushare.model.arrivals import LARGEST_SEED, MOST_REQUESTS, RATES_PER_S, SPEEDS, STAYS_S, THINK_TIMES_NS
from gpushare.model.host_pace import LONGEST_NS
from gpushare.model.kernel_model import DEFAULT_ISSUE_UTILISATION, LONGEST_BLOCK_NS, NUMBER_FIELDS, WHOLE_FIELDS
from gpushare.model.operation import MOST_BLOCKS, MOST_SHARED_BYTES
from gpushare.model.service_level import DEADLINES_NS, LATENCIES_NS, MIN_SPEEDS, WEIGHTS
from gpushare.model.workload import LATEST_ARRIVAL_NS, PRIORITIES
from gpushare.suite.arguments import MOST_LAYERS, require_size, suite_kernel

MOST_REPEATS = 100_000


def _within(limits: tuple[float, float], default: Any = ...) -> Any:
    """A key that holds a number within these limits. The classes check them too, without file and line."""
    least, most = limits
    return Field(default, ge=least, le=most)


class ModelTable(Schema):
    """A [[kernel]] table that is a model for simulated devices."""

    name: str
    """Its name in launches."""
    threads: int = _within(WHOLE_FIELDS["threads"])
    """Threads of a block."""
    registers_per_thread: int = _within(WHOLE_FIELDS["registers_per_thread"], 0)
    """As the compiler reports them; 0 is never the limit."""
    shared_memory_bytes: int = _within(WHOLE_FIELDS["shared_memory_bytes"], 0)
    """Shared memory of a block, static and dynamic."""
    latency_ns: float | None = _within(NUMBER_FIELDS["latency_ns"], None)
    """The time of a block that has an SM to itself."""
    issue_ns: float = _within(NUMBER_FIELDS["issue_ns"], 0.0)
    """The part of it in which the block occupies the SM's issue slots."""
    mean_block_time_ns: float | None = _within(NUMBER_FIELDS["mean_block_time_ns"], None)
    """Instead of latency and issue: the mean time of a block at full residency."""
    mean_block_time_cycles: float | None = _within(NUMBER_FIELDS["mean_block_time_cycles"], None)
    """The same in cycles of the device's clock."""
    issue_utilisation_ratio: float = _within(NUMBER_FIELDS["issue_utilisation_ratio"], DEFAULT_ISSUE_UTILISATION)
    """The utilisation of the issue slots at full residency, which splits that time."""
    off_sm_bytes: int = _within(WHOLE_FIELDS["off_sm_bytes"], 0)
    """Bytes that a block moves between the SM and the rest of the GPU."""
    llc_hit_ratio: float = _within(NUMBER_FIELDS["llc_hit_ratio"], 0.0)
    """The share of these bytes that the last-level cache serves."""
    dram_cost_ratio: float = _within(NUMBER_FIELDS["dram_cost_ratio"], 1.0)
    """DRAM time of a byte that the cache does not serve, relative to a streamed byte."""
    memory_ns: float = _within(NUMBER_FIELDS["memory_ns"], 0.0)
    """The part of the latency that grows while memory is busy; 0: only bandwidth matters."""
    variation_ratio: float = _within(NUMBER_FIELDS["variation_ratio"], 0.0)
    """Standard deviation over mean of the work per block."""
    startup_ratio: float = _within(NUMBER_FIELDS["startup_ratio"], 0.0)
    """Extra work of the first wave's blocks."""
    stagger_ratio: float = _within(NUMBER_FIELDS["stagger_ratio"], 0.0)
    """1: an SM serves blocks that start together one after the other; 0: all alike."""
    trend_ratio: float = _within(NUMBER_FIELDS["trend_ratio"], 0.0)
    """Extra work of the grid's first block, which falls linearly to the negative of this value at its last."""
    flops: float = _within(NUMBER_FIELDS["flops"], 0.0)
    """Single-precision operations of a block, by which Slate classifies kernels; 0: not counted."""


class CudaTable(Schema):
    """A [[kernel]] table with CUDA code, in another file or in this one."""

    name: str
    """Its name in launches, and its name in CUDA C++ unless `entry` is given."""
    entry: str | None = None
    """The name in CUDA C++, if it differs from `name`."""
    source: str | None = None
    """A file of CUDA C++ or PTX beside this one."""
    code: str | None = None
    """Instead of a file: the text itself."""
    options: list[str] = Field([])
    """Options for the compiler."""
    preemptible: bool = True
    """False: the original kernel runs, without preemption."""
    names: list[str] = Field([])
    """Instances of a template that are compiled together, because they share variables."""


def _kind_of_kernel(table: Any) -> str:
    keys = vars(table) if isinstance(table, Schema) else table
    is_cuda = isinstance(keys, dict) and ("source" in keys or "code" in keys)
    return tag_of(CudaTable if is_cuda else ModelTable)


AnyKernelTable = Annotated[
    Annotated[ModelTable, Tag(tag_of(ModelTable))] | Annotated[CudaTable, Tag(tag_of(CudaTable))],
    Discriminator(_kind_of_kernel),
]


class OperationTable(Schema):
    """A launch or a copy; workload_file.py tells them apart."""

    launch: str | None = None
    """The name of a kernel."""
    blocks: int | None = _within((1, MOST_BLOCKS), None)
    """The grid of a model: the number of blocks."""
    copy_: str | None = Field(None, alias="copy")
    """`to_device` or `to_host`."""
    bytes: int | None = _within((1, MOST_BYTES), None)
    """The size of a copy."""
    grid: Annotated[Any, accepted_by(lambda grid: grid_of("grid", grid))] = None
    """The grid of CUDA code: a whole number, or a list of up to three, x first."""
    block: Annotated[Any, accepted_by(lambda block: block_of("block", block))] = None
    """The threads of its blocks, written in the same way."""
    args: list[Annotated[Any, accepted_by(argument_from_data)]] | None = None
    """One entry per parameter of the kernel."""
    shared_bytes: int | None = _within((0, MOST_SHARED_BYTES), None)
    """Dynamic shared memory of a block."""
    suite: Annotated[Any, accepted_by(suite_kernel)] = None
    """Instead of `launch`: a kernel of the bundled suite, on its own data."""
    size: Annotated[Any, accepted_by(require_size)] = None
    """The size of the suite's data: `small` or `large`."""
    seed: int | None = Field(None, ge=0, le=LARGEST_DATA_SEED)
    """The seed of the suite's data."""
    layers: int | None = _within((1, MOST_LAYERS), None)
    """Repetitions of the suite's grid within the launch."""
    repeat: int = _within((1, MOST_REPEATS), 1)
    """Repetitions of the operation."""
    per: Literal["context_token", "generated_token"] | None = None
    """With a trace of arrivals: `blocks` or `bytes` are for each of these tokens of the request."""
    time_ns: float | None = _within((1, LONGEST_BLOCK_NS), None)
    """The time of a copy alone, if it differs from the device's bandwidth and latency."""
    host_ns: float | None = _within((0, LONGEST_NS), None)
    """Host time since the previous operation was issued."""
    after_ns: float | None = _within((0, LONGEST_NS), None)
    """Host time since the previous operation ended, for which the host waits."""
    gap_ns: float | None = _within((0, LONGEST_NS), None)
    """Pause of the device since the previous operation ended, without delay of the host."""


class ArrivalsTable(Schema):
    """The `arrivals` of an application; arrivals_file.py tells its processes apart."""

    process: str
    """`poisson`, `bursts` (a Poisson process with two rates), `closed_loop` (one client), or `trace`."""
    requests: int | None = _within((1, MOST_REQUESTS), None)
    """The number of requests; for a trace, by default all."""
    seed: int | None = Field(None, ge=0, le=LARGEST_SEED)
    """The seed of the times."""
    rate_per_s: float | None = _within(RATES_PER_S, None)
    """Requests in a second, in the mean (`poisson`; `bursts`, while it is calm)."""
    burst_rate_per_s: float | None = _within(RATES_PER_S, None)
    """Requests in a second during a burst, in the mean."""
    calm_s: float | None = _within(STAYS_S, None)
    """The mean time between bursts, in seconds."""
    burst_s: float | None = _within(STAYS_S, None)
    """The mean duration of a burst, in seconds."""
    think_ns: float | None = _within(THINK_TIMES_NS, None)
    """The mean time from the end of a request to the next (`closed_loop`)."""
    source: str | None = None
    """A file beside this one, in the format of Azure's traces of LLM inference (`trace`)."""
    speed: float | None = _within(SPEEDS, None)
    """How many times as fast as in the trace requests come."""


class ApplicationTable(Schema):
    """An [[application]] table."""

    name: str
    """`alice/1` and `alice/2` are two streams of one application."""
    arrival_ns: float = _within((0, LATEST_ARRIVAL_NS), 0.0)
    """Time of its arrival."""
    priority: int = _within(PRIORITIES, 0)
    """Larger is more urgent."""
    weight: float = _within(WEIGHTS, 1.0)
    """Its share of the GPU, or of its owner's share, under `fair`, `mix` and `auto`."""
    memory_bytes: int = _within((0, MOST_BYTES), 0)
    """The device memory that it needs, from its start to its end."""
    deadline_ns: float | None = _within(DEADLINES_NS, None)
    """Time after its arrival by which it should have ended (`edf`)."""
    min_speed: float | None = _within(MIN_SPEEDS, None)
    """Its least speed, relative to its speed alone (`mix`, `auto`)."""
    latency_ns: float | None = _within(LATENCIES_NS, None)
    """Time after the submission of each launch by which it should have ended (`mix`, `auto`)."""
    owner: str | None = None
    """Owners have equal shares, independent of the number of their applications."""
    operations: list[OperationTable]
    """In order; each starts when the previous one has ended. With `arrivals`, those of one request."""
    arrivals: ArrivalsTable | None = None
    """When requests come, each with all operations; simulated devices only."""


class WorkloadTable(Schema):
    """The whole file."""

    name: str
    """The name of the workload."""
    device: str | None = None
    """The device of `--device auto`."""
    kernels: list[AnyKernelTable] = Field([], alias="kernel")
    """Models, or CUDA code."""
    applications: list[ApplicationTable] = Field([], alias="application")
    """The applications, which launch the kernels."""
