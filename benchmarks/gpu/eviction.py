# SPDX-License-Identifier: Apache-2.0
"""Eviction: time from the decision until no block of a kernel runs, and the cost of resuming."""

from __future__ import annotations

import argparse
import random
from contextlib import nullcontext
from dataclasses import dataclass, field

import numpy as np

from gpushare import _core
from gpushare.backends.cuda.loaded_workload import CudaWorkload
from gpushare.backends.cuda.run import CudaRunner
from gpushare.model.workload import Launch

from .driver import CopyTraffic
from .evicting_policy import Evicting, Eviction
from .eviction_floor import floor_row
from .report import Report
from .spread import Spread, percentile
from .suite_on_gpu import add_kernels_option, alone, chosen_kernels, runner_with, turnaround_ns

REPEATS = 120
"""Evictions per kernel; a launch that ends before its eviction gives none."""
ALLOWANCE_US = 15.0


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds this benchmark's options."""
    add_kernels_option(parser)
    parser.add_argument("--seed", type=int, default=0, help="seed of the times of eviction")
    parser.add_argument("--no-copies", action="store_true", help="leave out the part with busy copy engines")
    parser.add_argument("--no-floor", action="store_true", help="leave out the part without a scheduler")


@dataclass
class Samples:
    """Samples of one kernel, in microseconds."""

    block_us: float = float("nan")
    gone: list[float] = field(default_factory=list)
    gone_since_due: list[float] = field(default_factory=list)
    first_block: list[float] = field(default_factory=list)
    lost: list[float] = field(default_factory=list)
    uninterrupted: list[float] = field(default_factory=list)
    too_late: int = 0


def measure(options: argparse.Namespace, report: Report) -> None:
    """Measures without other traffic, and while both copy engines are busy."""
    launches = {name: Launch.of_suite(name, options.size) for name in chosen_kernels(options)}
    runner = runner_with(options.device, list(launches.values()))
    ordinal = int(options.device.partition(":")[2] or 0)
    floors: list[dict[str, object]] = []
    for title, busy in (("nothing else", False), ("both copy engines busy with 256 MB copies", True)):
        if busy and options.no_copies:
            continue
        rows: list[dict[str, object]] = []
        try:
            with CopyTraffic(ordinal) if busy else nullcontext():
                for name, launch in launches.items():
                    samples = _samples(runner, name, launch, options)
                    rows.append(_row(name, samples))
                    loaded, limit_us = runner._loaded[launch], _limit_us(samples)
                    if loaded.is_preemptible and not busy and not options.no_floor:
                        floors.append(floor_row(runner.device, name, loaded, samples.block_us, limit_us))
        finally:
            report.add(f"Eviction with {title}", rows, NOTE)
    if floors:
        report.add("Eviction without a scheduler", floors, FLOOR_NOTE)


NOTE = (
    "Microseconds. Evicted at random times within the launch, under a policy written in Python; every second launch "
    "is not evicted. Gone: from the return of decide() to the poll that shows no block of the kernel on any SM. From "
    "due: from the time that the policy had requested (its own time and the wait for Python included). Limit: 2 "
    "block times + 15 us. First block: from the return of the resuming decide() to the first block (inferred from the "
    "counters of a poll). Lost: turnaround without the pause, less the median turnaround of undisturbed launches. "
    "Too late: the launch ended before it could resume. Polls are some microseconds apart, which is in all figures."
)

FLOOR_NOTE = (
    "Microseconds, nothing else on the GPU. The thread that writes the order waits for the end of the workers and does "
    "nothing else: no policy, no polls, no events. Without prefix: with the chunk that gpushare chooses."
)


def _limit_us(samples: Samples) -> float:
    return 2 * samples.block_us + ALLOWANCE_US


def _samples(runner: CudaRunner, name: str, launch: Launch, options: argparse.Namespace) -> Samples:
    once = runner.prepare(alone(name, launch))
    runner.warm_up(once)
    duration_ns = turnaround_ns(runner.run(once, "fifo", 0, record=False))
    prepared = CudaWorkload(runner.device, alone(name, launch, 2 * options.repeats), runner._loaded)
    source = random.Random(options.seed)
    policy = Evicting([round(source.uniform(0.1, 0.7) * duration_ns) + 20_000 for _ in range(options.repeats)])
    prepared.restore()
    record = runner._record(prepared, policy, {}, 0, record=True)
    return samples_of(record.trace, policy.settle(record.began))


def samples_of(trace: _core.Trace, evictions: list[Eviction]) -> Samples:
    """Samples from the trace of a run."""
    samples = Samples(block_us=_mean_block_us(trace))
    arrival, end = _times(trace.launch_arrivals()), _times(trace.launch_ends())
    evicted = {eviction.launch for eviction in evictions}
    samples.uninterrupted = [(end[launch] - arrival[launch]) / 1e3 for launch in arrival if launch not in evicted]
    usual_us = float(np.median(samples.uninterrupted)) if samples.uninterrupted else float("nan")
    changes = {name: np.asarray(values) for name, values in trace.residency_changes().items()}
    # One slice of rows per launch: the rows are in the order of the launches.
    bounds = np.searchsorted(changes["operation"], np.arange(max(arrival, default=0) + 2))
    for eviction in evictions:
        rows = slice(bounds[eviction.launch], bounds[eviction.launch + 1])
        turnaround_ns = end[eviction.launch] - arrival[eviction.launch]
        _add(samples, eviction, changes["time_ns"][rows], changes["change"][rows], turnaround_ns, usual_us)
    return samples


def _add(
    samples: Samples,
    eviction: Eviction,
    times: np.ndarray,
    changes: np.ndarray,
    turnaround_ns: int,
    usual_us: float,
) -> None:
    resident = np.cumsum(changes)
    before = np.searchsorted(times, eviction.evicted_ns, side="right")
    if eviction.resumed_ns < 0 or before == 0 or resident[before - 1] == 0:
        samples.too_late += 1
        return
    empty = np.flatnonzero(resident[before:] == 0)
    back = np.flatnonzero((times > eviction.resumed_ns) & (changes > 0))
    if len(empty) == 0 or len(back) == 0:
        samples.too_late += 1
        return
    gone_ns = int(times[before + empty[0]])
    samples.gone.append((gone_ns - eviction.evicted_ns) / 1e3)
    samples.gone_since_due.append((gone_ns - eviction.due_ns) / 1e3)
    samples.first_block.append((int(times[back[0]]) - eviction.resumed_ns) / 1e3)
    samples.lost.append((turnaround_ns - (eviction.resumed_ns - gone_ns)) / 1e3 - usual_us)


def _mean_block_us(trace: _core.Trace) -> float:
    blocks = {name: np.asarray(values) for name, values in trace.blocks().items()}
    total = blocks["blocks"].sum()
    if total == 0:
        return float("nan")
    # A late poll makes its blocks seem long: the longest hundredth counts as the longest of the others.
    durations = blocks["end_ns"] - blocks["start_ns"]
    durations = np.minimum(durations, np.percentile(durations, 99))
    return float((durations * blocks["blocks"]).sum() / total / 1e3)


def _times(moments: dict[str, np.ndarray]) -> dict[int, int]:
    return {int(launch): int(time) for launch, time in zip(moments["operation"], moments["time_ns"], strict=True)}


def _row(name: str, samples: Samples) -> dict[str, object]:
    limit_us = _limit_us(samples)
    p50, p99 = percentile(samples.gone, 50), percentile(samples.gone, 99)
    return {
        "kernel": name,
        "n": len(samples.gone),
        "too late": samples.too_late,
        "block": samples.block_us,
        "gone p50": p50,
        "p99": p99,
        "p50 in blocks": p50 / samples.block_us,
        "p99 in blocks": p99 / samples.block_us,
        "limit": limit_us,
        "p99 / limit": p99 / limit_us,
        "from due p50": percentile(samples.gone_since_due, 50),
        "from due p99": percentile(samples.gone_since_due, 99),
        "first block": Spread.of(samples.first_block),
        "lost": Spread.of(samples.lost),
        "left alone": Spread.of(samples.uninterrupted),
    }
