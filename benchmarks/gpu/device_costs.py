# SPDX-License-Identifier: Apache-2.0
"""The figures of a device file, measured on this GPU: bandwidths, copies, delays of commands, costs of the driver.

Delays are between the clocks of host and GPU: every block of a kernel writes when it begins and when it ends. At the
end a device file is printed with what was measured; peak_gflop_per_s, issue_order and tables that the driver does not
know are left to its author.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from gpushare._core import Device
from gpushare.backends.cuda.device import CudaDevice, cuda_device
from gpushare.kernels.kernel import Kernel
from gpushare.model.device_file import device_from_dict, device_to_dict
from gpushare.model.device_text import device_text
from gpushare.profile.fit import fitted_copies
from gpushare.profiling.copies import measure_device
from gpushare.profiling.effort import Effort

from .bandwidth import reached_gb_per_s
from .driver import use_primary_context
from .evicting_policy import Evicting, Eviction
from .green_context import green_context_costs
from .report import Report
from .spread import Spread
from .stamped_launches import SOURCE, StampedLaunches

REPEATS = 15
WAYS = {"workers": "fifo", "the original": "fifo:whole_up_to_ns=5e7"}
DURATIONS_NS = (2_000, 8_000, 30_000, 100_000)
WAVES = 3
IN_A_ROW = 20
RUNS_IN_A_ROW = 3
BEFORE_STEADY = 3
"""Launches in a row before the next one waits in hardware."""
EVICTED_NS = 8_000
"""Blocks of which a worker claims one at a time, by the default work_per_claim_ns."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds this benchmark's options."""
    parser.add_argument("--waves", type=int, default=250, help="waves of blocks of a launch to be evicted")


@dataclass
class Found:
    """Rows of the report, and the values of the device file by table and key."""

    rows: list[dict[str, object]] = field(default_factory=list)
    values: dict[str, dict[str, float]] = field(default_factory=dict)

    def add(self, what: str, values: Iterable[float], unit: str, key: str = "") -> None:
        """Measured values; their median is for this key, such as "delays.launch_ns"."""
        spread = Spread.of(values)
        self.rows.append({"what": what, "value": spread, "unit": unit, "n": spread.count, "key": key})
        if key and spread.count:
            table, _, name = key.partition(".")
            self.values.setdefault(table, {})[name] = round(spread.median, None if unit == "ns" else 1)

    def device(self, known: Device) -> Device:
        """A device with these values."""
        data = device_to_dict(known)
        return device_from_dict(
            data
            | {
                name: data[name] | {key: max(value, 0) for key, value in table.items()}
                for name, table in self.values.items()
            }
        )


def measure(options: argparse.Namespace, report: Report) -> None:
    """Measures part after part. One that fails is named in the report, and the others follow."""
    gpu = cuda_device(options.device)
    use_primary_context(gpu.ordinal)
    found = Found()
    parts: dict[str, Callable[[CudaDevice, argparse.Namespace, Found], None]] = {
        "copies": copies,
        "launches": launches,
        "evictions": evictions,
        "green contexts": green_contexts,
        "bandwidth": bandwidth,
    }
    for name, part in parts.items():
        begin = time.monotonic()
        try:
            part(gpu, options, found)
        except Exception as error:
            found.rows.append({"what": f"{name}: {error!r}"})
        print(f"{name}: {time.monotonic() - begin:.1f} s", flush=True)
    report.add("Costs of this GPU, its driver and its host", found.rows, "Medians (p10..p90) of n values.")
    comment = "Measured by python -m benchmarks.gpu device_costs; the driver's values for SMs and memory."
    print(device_text(found.device(gpu.description), [comment]), flush=True)


def copies(gpu: CudaDevice, options: argparse.Namespace, found: Found) -> None:
    """As ``gpushare profile`` measures and fits them."""
    for curve in fitted_copies(measure_device(gpu, Effort())).copies:
        words, is_pinned = f"copies {curve.direction}, {curve.memory}", curve.memory == "pinned"
        found.add(f"{words}, {curve.bytes[0]} bytes", [curve.host_ns[0]], "ns")
        if curve.fit is not None:
            keys = [f"{curve.direction}.{name}" if is_pinned else "" for name in ("bandwidth_gb_per_s", "latency_ns")]
            found.add(f"{words}, bandwidth", [curve.fit.bandwidth_gb_per_s], "GB/s", keys[0])
            found.add(f"{words}, latency", [curve.fit.latency_ns], "ns", keys[1])


def launches(gpu: CudaDevice, options: argparse.Namespace, found: Found) -> None:
    """What the scheduler adds to a launch alone, and between launches in a row."""
    for way, policy in WAYS.items():
        begins, ends, follows = [], [], []
        for duration_ns in DURATIONS_NS:
            alone = StampedLaunches(gpu, 1, WAVES, duration_ns)
            alone.run(policy)
            for _ in range(options.repeats):
                record = alone.run(policy)
                (times,) = alone.times_ns(record)
                begins.append(times[:, 0].min() - record.trace.launch_arrivals()["time_ns"][0])
                ends.append(record.trace.launch_ends()["time_ns"][0] - times[:, 1].max())
            in_a_row = StampedLaunches(gpu, IN_A_ROW, WAVES, duration_ns)
            for _ in range(RUNS_IN_A_ROW):
                steady = in_a_row.times_ns(in_a_row.run(policy))[BEFORE_STEADY:]
                follows += [after[:, 0].min() - before[:, 1].max() for before, after in pairwise(steady)]
        keys = [f"delays.{name}" if way == "workers" else "" for name in ("launch_ns", "completion_ns", "follow_ns")]
        found.add(f"arrival to first block, as {way}", begins, "ns", keys[0])
        found.add(f"last block to known end, as {way}", ends, "ns", keys[1])
        found.add(f"the two together, as {way}", np.add(begins, ends), "ns")
        found.add(f"last block to first of the next, as {way}", follows, "ns", keys[2])


def evictions(gpu: CudaDevice, options: argparse.Namespace, found: Found) -> None:
    """From a plan until workers obey it, and until they are back; and how often the GPU is polled meanwhile."""
    stamped = StampedLaunches(gpu, 1, options.waves, EVICTED_NS)
    source = random.Random(0)
    stamped.run("fifo")
    signal, top_up, gaps = [], [], []
    for _ in range(2 * options.repeats):
        policy = Evicting([round(source.uniform(0.2, 0.7) * options.waves * EVICTED_NS)])
        record = stamped.run(policy)
        gaps += [float(gap) for gap in np.diff(np.unique(record.trace.blocks()["end_ns"]))]
        (eviction,) = policy.settle(record.began)
        (times,) = stamped.times_ns(record)
        if (delays := eviction_delays_ns(times[:, 0], eviction)) is not None:
            signal.append(delays[0])
            top_up.append(delays[1])
    found.add("plan in Python to the last block that begins all the same", signal, "ns", "delays.signal_ns")
    found.add("plan in Python to the first block after an eviction", top_up, "ns", "delays.top_up_ns")
    found.add("between two polls with progress", gaps, "ns")
    found.add("the same, 1st percentile", [float(np.percentile(gaps, 1))] if gaps else [], "ns")


def eviction_delays_ns(begins: np.ndarray, eviction: Eviction) -> tuple[int, int] | None:
    """How late both plans took effect, by the begins of the launch's blocks: none begins while it is evicted.

    Args:
        begins: of all blocks of the evicted launch, in nanoseconds of the run.
        eviction: with times of the run, too.

    Returns:
        The nanoseconds from the plan that evicts to the last block that begins all the same, and from the plan that
        resumes to the first block after it. None where the launch had begun all its blocks before.
    """
    ordered = np.sort(begins)
    after = int(np.searchsorted(ordered, eviction.resumed_ns))
    if eviction.resumed_ns < 0 or not 0 < after < len(ordered):
        return None
    return int(ordered[after - 1] - eviction.evicted_ns), int(ordered[after] - eviction.resumed_ns)


def green_contexts(gpu: CudaDevice, options: argparse.Namespace, found: Found) -> None:
    """What a partition costs during its drain: a green context of half of the SMs, and a kernel there."""
    compiled = Kernel(SOURCE, "stamp", preemptible=False).compile(gpu.core.architecture)
    sms = gpu.description.sms // 2
    costs = [green_context_costs(gpu.ordinal, compiled.original, compiled.symbol, sms) for _ in range(options.repeats)]
    words = ("make a green context with a stream", "load a kernel there", "free both")
    for what, values in zip(words, zip(*costs, strict=True), strict=True):
        found.add(what, values, "ns")


def bandwidth(gpu: CudaDevice, options: argparse.Namespace, found: Found) -> None:
    """What plain kernels reach, which is less than the hardware could."""
    keys = {"DRAM, read": "off_sm.dram_gb_per_s", "last-level cache, read": "off_sm.llc_gb_per_s"}
    for what, values in reached_gb_per_s(gpu, options.repeats).items():
        found.add(what, values, "GB/s", keys.get(what, ""))
