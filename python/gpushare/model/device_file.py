# SPDX-License-Identifier: Apache-2.0
"""Reads and writes device files (docs/guide/devices.md)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from gpushare import _core
from gpushare._core import Device
from gpushare.files.schema import Schema, checked
from gpushare.files.toml_file import made_from

Count = Annotated[int, Field(ge=0, le=2**31 - 1)]
AtLeastOne = Annotated[int, Field(ge=1, le=2**31 - 1)]
Unit = Annotated[int, Field(ge=1, le=2**14)]
Bandwidth = Annotated[float, Field(ge=0, le=1e12)]
PositiveBandwidth = Annotated[float, Field(gt=0, le=1e12)]
Factor = Annotated[float, Field(ge=0, le=1e6)]
Nanoseconds = Annotated[float, Field(ge=0, le=1e15)]
"""The core checks values within these limits, which are those of its number types."""
PositiveNanoseconds = Annotated[float, Field(gt=0, le=1e15)]
Gain = Annotated[float, Field(gt=0, le=1e3)]
USUAL_CO_RUNS = _core.CoRunTuning()
USUAL_RUNTIME = _core.RuntimeTuning()


class SmTable(Schema):
    """Resources that the resident blocks of one SM share."""

    threads: AtLeastOne
    """Resident threads."""
    warps: AtLeastOne
    """Resident warps."""
    blocks: AtLeastOne
    """Resident blocks."""
    registers: AtLeastOne
    """The register file."""
    shared_memory_bytes: Count
    """Shared memory of all resident blocks."""
    issue_order: Literal["fair", "oldest-first"] = "fair"
    """Priority among warps: all alike, or the oldest blocks first."""
    shared_memory_splits_bytes: list[Count] = Field(default_factory=list)
    """The sizes of shared memory for which the L1 cache can be divided; none: any size."""


class GranularityTable(Schema):
    """The allocation units of an SM's resources."""

    threads_per_warp: Unit = 32
    """Threads are rounded up to whole warps."""
    registers_per_warp: Unit = 256
    """Registers of a warp are rounded up to a multiple of this."""
    warps: AtLeastOne = 4
    """The warps that fit the register file are rounded down to a multiple of this."""
    shared_memory_bytes: AtLeastOne = 128
    """Shared memory of a block is rounded up to a multiple of this."""
    reserved_shared_memory_bytes: Count = 0
    """Shared memory of each block that the system uses."""


class OffSmTable(Schema):
    """Bandwidths of network, last-level cache and DRAM in GB/s; 0 means no limit."""

    noc_gb_per_s: Bandwidth = 0.0
    """Between the SMs and the cache; 0: no limit."""
    llc_gb_per_s: Bandwidth = 0.0
    """The last-level cache; 0: no limit."""
    dram_gb_per_s: Bandwidth = 0.0
    """The device memory; 0: no limit."""
    delay_linear: Factor = 0.0
    """Additional latency of memory at any load."""
    delay_saturating: Factor = 0.0
    """Additional latency of memory near saturation."""


class CopyTable(Schema):
    """One direction of the copy engines."""

    bandwidth_gb_per_s: PositiveBandwidth
    """The bandwidth of this direction."""
    latency_ns: Nanoseconds = 0.0
    """Time of every copy in addition to its bytes."""


class PeerTable(Schema):
    """The link to other GPUs of a host, over which the memory of applications is moved; without one: by the host."""

    bandwidth_gb_per_s: Bandwidth = 0.0
    """The bandwidth in one direction; 0: there is no link."""
    latency_ns: Nanoseconds = 0.0
    """Time of every move in addition to its bytes."""


class DelaysTable(Schema):
    """Delays between a command of the host and its effect."""

    launch_ns: Nanoseconds = 0.0
    """From the arrival of a launch to its first block."""
    signal_ns: Nanoseconds = 0.0
    """From a new plan to its effect on running blocks."""
    relaunch_ns: Nanoseconds = 0.0
    """From a new plan to the first block of a launch that had been evicted."""
    block_dispatch_ns: Nanoseconds = 0.0
    """Between two blocks that one SM starts."""
    completion_ns: Nanoseconds = 0.0
    """From the end of the last block of a launch until the host has detected it."""
    top_up_ns: Nanoseconds = 0.0
    """Until workers return that had left for another launch, or that did not fit at the start."""
    follow_ns: Nanoseconds = 0.0
    """From the last block of a launch to the first of its successor in the hardware queue; 0: no successors."""


class TuningTable(Schema):
    """The cost of co-running kernels, and what it has to promise. Policies that predict use it."""

    plan_latency_ns: Nanoseconds = USUAL_CO_RUNS.plan_latency_ns
    """From the arrival of a launch until workers obey a plan for it, at least."""
    allocation_settling_ns: Nanoseconds = USUAL_CO_RUNS.allocation_settling_ns
    """From a new allocation until its quotas hold on all SMs."""
    switch_cost_ns: Nanoseconds = USUAL_CO_RUNS.switch_cost_ns
    """To hand the GPU from one launch to another."""
    longest_backlog_ns: Nanoseconds = USUAL_CO_RUNS.longest_backlog_ns
    """The most waiting work that is admitted to reserved SMs."""
    gain_of_unequal_parts: Gain = USUAL_CO_RUNS.gain_of_unequal_parts
    """Throughput that an unequal partition must promise over an equal one."""
    gain_of_sharing: Gain = USUAL_CO_RUNS.gain_of_sharing
    """The same for shared SMs."""
    gain_of_doubtful_co_running: Gain = USUAL_CO_RUNS.gain_of_doubtful_co_running
    """The same for co-running over serial execution, where the prediction is uncertain."""
    gain_of_serial_whole: Gain = USUAL_CO_RUNS.gain_of_serial_whole
    """Throughput of original kernels in serial execution over that of one after the other."""


class RuntimeTable(Schema):
    """What the scheduler of a real GPU waits for; simulated ones do not use it."""

    shortest_poll_wait_ns: Nanoseconds = USUAL_RUNTIME.shortest_poll_wait_ns
    """Between two polls of the GPU while a launch waits for what they show."""
    longest_poll_wait_ns: Nanoseconds = USUAL_RUNTIME.longest_poll_wait_ns
    """The same while none waits, at most."""
    late_poll_ns: Nanoseconds = USUAL_RUNTIME.late_poll_ns
    """A poll that takes longer is started once more in another way."""
    late_poll_with_place_ns: Nanoseconds = USUAL_RUNTIME.late_poll_with_place_ns
    """The same while SMs are reserved for the other way."""
    time_for_events_ns: PositiveNanoseconds = USUAL_RUNTIME.time_for_events_ns
    """The policy's time for the events of a poll before the next one."""
    first_top_up_patience_ns: PositiveNanoseconds = USUAL_RUNTIME.first_top_up_patience_ns
    """From a request for workers to the next one, at first; it doubles each time."""
    longest_top_up_patience_ns: PositiveNanoseconds = USUAL_RUNTIME.longest_top_up_patience_ns
    """The same at most."""
    work_per_claim_ns: Nanoseconds = USUAL_RUNTIME.work_per_claim_ns
    """Work that a worker claims at once."""
    brief_launch_ns: Nanoseconds = USUAL_RUNTIME.brief_launch_ns
    """A launch is brief if its blocks all begin at once and take no longer."""
    longest_passing_ns: Nanoseconds = USUAL_RUNTIME.longest_passing_ns
    """The time for which a launch on reserved SMs is expected to end before its places matter."""
    short_block_ns: Nanoseconds = USUAL_RUNTIME.short_block_ns
    """A launch with blocks no longer than this leaves its SMs soon."""
    partition_worth_ns: PositiveNanoseconds = USUAL_RUNTIME.partition_worth_ns
    """Time of launches after which a kernel is loaded into a part of the GPU."""


class DeviceTable(Schema):
    """The whole file."""

    name: str
    """The name of the device."""
    sms: Annotated[int, Field(ge=1, le=2**16)]
    """Streaming multiprocessors."""
    clock_mhz: Annotated[float, Field(ge=1e-3, le=1e9)]
    """Converts cycles to time."""
    peak_gflop_per_s: float = Field(0.0, ge=0, le=1e12)
    """Single-precision peak, by which Slate classifies kernels; 0: not known."""
    memory_bytes: Annotated[int, Field(ge=0, le=2**50)] = 0
    """Size of the memory, for which applications wait if their files state their need; 0: not known."""
    per_sm: SmTable
    """Resources that the resident blocks of one SM share."""
    granularity: GranularityTable = GranularityTable()
    """The allocation units of an SM's resources."""
    off_sm: OffSmTable = OffSmTable()
    """Bandwidth beyond the SMs."""
    to_device: CopyTable
    """Copies from the host."""
    to_host: CopyTable
    """Copies to the host."""
    peer: PeerTable = PeerTable()
    """The link to the other GPUs of a host."""
    delays: DelaysTable = DelaysTable()
    """Delays between a command of the host and its effect."""
    tuning: TuningTable = TuningTable()
    """The cost of co-running kernels, and what it has to promise."""
    runtime: RuntimeTable = RuntimeTable()
    """What the scheduler of a real GPU waits for."""


def read_device(path: Path) -> Device:
    """Reads a device file; InvalidInput names the file, line and key of an error."""
    return made_from(path, DeviceTable, _device)


def device_from_dict(data: dict[str, Any]) -> Device:
    """The inverse of :func:`device_to_dict`."""
    return _device(checked(data, DeviceTable))


def device_to_dict(device: Device) -> dict[str, Any]:
    """The device in the structure of its file format."""
    return {
        "name": device.name,
        "sms": device.sms,
        "clock_mhz": device.clock_hz / 1e6,
        "peak_gflop_per_s": device.flops_per_s / 1e9,
        "memory_bytes": device.memory_bytes,
        "per_sm": {field: getattr(device.per_sm, field) for field in SmTable.model_fields},
        "granularity": {field: getattr(device.granularity, field) for field in GranularityTable.model_fields},
        "off_sm": {
            "noc_gb_per_s": device.off_sm.noc_bytes_per_s / 1e9,
            "llc_gb_per_s": device.off_sm.llc_bytes_per_s / 1e9,
            "dram_gb_per_s": device.off_sm.dram_bytes_per_s / 1e9,
            "delay_linear": device.off_sm.delay_linear,
            "delay_saturating": device.off_sm.delay_saturating,
        },
        "to_device": _copy_to_dict(device.to_device),
        "to_host": _copy_to_dict(device.to_host),
        "peer": _copy_to_dict(device.peer),
        "delays": {field: getattr(device.delays, field) for field in DelaysTable.model_fields},
        "tuning": {field: getattr(device.tuning, field) for field in TuningTable.model_fields},
        "runtime": {field: getattr(device.runtime, field) for field in RuntimeTable.model_fields},
    }


def _copy_to_dict(engine: _core.CopyEngine) -> dict[str, float]:
    return {"bandwidth_gb_per_s": engine.bandwidth_bytes_per_s / 1e9, "latency_ns": engine.latency_ns}


def _device(table: DeviceTable) -> Device:
    return Device(
        name=table.name,
        sms=table.sms,
        clock_hz=table.clock_mhz * 1e6,
        flops_per_s=table.peak_gflop_per_s * 1e9,
        memory_bytes=table.memory_bytes,
        per_sm=_core.SmCapacity(**table.per_sm.model_dump()),
        granularity=_core.AllocationGranularity(**table.granularity.model_dump()),
        off_sm=_core.OffSmBandwidth(
            noc_bytes_per_s=table.off_sm.noc_gb_per_s * 1e9,
            llc_bytes_per_s=table.off_sm.llc_gb_per_s * 1e9,
            dram_bytes_per_s=table.off_sm.dram_gb_per_s * 1e9,
            delay_linear=table.off_sm.delay_linear,
            delay_saturating=table.off_sm.delay_saturating,
        ),
        to_device=_copy_engine(table.to_device),
        to_host=_copy_engine(table.to_host),
        peer=_copy_engine(table.peer),
        delays=_core.CommandDelays(**_in_whole_ns(table.delays)),
        tuning=_core.CoRunTuning(**_in_whole_ns(table.tuning)),
        runtime=_core.RuntimeTuning(**_in_whole_ns(table.runtime)),
    )


def _in_whole_ns(table: Schema) -> dict[str, Any]:
    """The values of a table, times as the core counts them."""
    return {key: round(value) if key.endswith("_ns") else value for key, value in table.model_dump().items()}


def _copy_engine(table: CopyTable | PeerTable) -> _core.CopyEngine:
    return _core.CopyEngine(bandwidth_bytes_per_s=table.bandwidth_gb_per_s * 1e9, latency_ns=round(table.latency_ns))
