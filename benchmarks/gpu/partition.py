# SPDX-License-Identifier: Apache-2.0
"""Two kernels side by side: throughput by SM split and by blocks per SM, against streams, green contexts, MPS."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence

import numpy as np

from gpushare._core import State
from gpushare.backends.cuda.run import CudaRunner
from gpushare.model.workload import Launch, Workload
from gpushare.policy import Plan, Policy, Quota
from gpushare.results.run import Run

from . import mps
from .report import Report
from .spread import Spread
from .suite_on_gpu import alone, launch_ends_ns, repeated, runner_with

REPEATS = 3
SPLITS = (16, 24, 32, 40, 48, 66, 92)
SKIPPED = 0.1
"""Part of the time in which both run that is not counted, at its beginning."""
ENOUGH_ENDS = 6
"""Launches that end in the window, so that the rate follows from them alone."""


class Shares(Policy):
    """Fixed quotas by application.

    Args:
        words: the name in tables.
        quotas: blocks per SM by the application's name, one number or one per SM.
    """

    def __init__(self, words: str, quotas: dict[str, Quota]) -> None:
        self._words = words
        self._quotas = quotas

    @property
    def name(self) -> str:
        """The name in tables."""
        return self._words

    def decide(self, state: State) -> Plan:
        """Gives every running application its quota."""
        return Plan({launch: self._quotas[launch.application] for launch in state.running})


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds this benchmark's options."""
    mps.add_options(parser)
    parser.add_argument("--splits", default=",".join(map(str, SPLITS)), help="SMs of the first kernel, with commas")
    parser.add_argument("--shared-window-ms", type=float, default=50.0, help="time for which both run, in one process")
    parser.add_argument("--no-mps", action="store_true", help="leave out separate processes")


def measure(options: argparse.Namespace, report: Report) -> None:
    """Measures every pair: in one process, then as processes."""
    pairs = mps.chosen_pairs(options)
    best = []
    for pair in pairs:
        rows = in_one_process(pair, options)
        report.add(f"{' + '.join(pair)}: one process", rows, NOTE)
        if not options.no_mps:
            processes = mps.as_processes(pair, options)
            report.add(f"{' + '.join(pair)}: a process each", processes, mps.NOTE)
            rows = [*rows, *processes]
        best += [{"pair": " + ".join(pair), **row} for row in _best_of_each_kind(rows)]
    report.add("The best of each kind", best)


NOTE = (
    "STP: sum over both of rate / rate alone (original kernel on a separate stream). Rate: launches ended per second "
    "while both run, the beginning left out. Medians (p10..p90) over the repeats, kinds alternately."
)


def in_one_process(pair: tuple[str, str], options: argparse.Namespace) -> list[dict[str, object]]:
    """One row per way of sharing."""
    launches = [Launch.of_suite(name, options.size) for name in pair]
    runner = runner_with(options.device, launches)
    workload = _long_enough(runner, pair, launches, options.shared_window_ms)
    prepared = runner.prepare(workload)
    runner.warm_up(prepared)
    ways = _ways(runner, pair, launches, [int(split) for split in options.splits.split(",")])
    found: list[list[tuple[float, float]]] = [[] for _ in ways]
    for repeat in range(options.repeats):
        rates_alone = [_rate_alone(runner, workload, name, repeat) for name in pair]
        for shares, (_, policy) in zip(found, ways, strict=True):
            run = runner.run(prepared, policy, repeat, record=False)
            rates = shared_rates(run)
            shares.append((rates[0] / rates_alone[0], rates[1] / rates_alone[1]))
    return [
        {
            "kind": kind,
            "setting": policy if isinstance(policy, str) else policy.name,
            "STP": Spread.of(first + second for first, second in shares),
            f"{pair[0]} rate / alone": Spread.of(first for first, _ in shares),
            f"{pair[1]} rate / alone": Spread.of(second for _, second in shares),
        }
        for (kind, policy), shares in zip(ways, found, strict=True)
    ]


def _long_enough(runner: CudaRunner, pair: tuple[str, str], launches: Sequence[Launch], window_ms: float) -> Workload:
    """Each kernel repeated so that it runs for this long even without interference."""
    applications = []
    for name, launch in zip(pair, launches, strict=True):
        once_ns = runner._alone(alone(name, launch), name).turnaround_ns
        applications.append(repeated(name, launch, math.ceil(window_ms * 1e6 / once_ns) + 1))
    return Workload("+".join(pair), tuple(applications))


def _ways(
    runner: CudaRunner, pair: tuple[str, str], launches: Sequence[Launch], splits: Sequence[int]
) -> list[tuple[str, str | Policy]]:
    device = runner.device.description
    needs = [runner.device.model(launch) for launch in launches]
    most = [_residency(runner, launch) for launch in launches]
    ways: list[tuple[str, str | Policy]] = [("streams", "hardware-streams"), ("fifo", "fifo"), ("even", "even")]
    for split in (each for each in splits if 0 < each < device.sms):
        rest = device.sms - split
        quotas = {pair[0]: [most[0]] * split + [0] * rest, pair[1]: [0] * split + [most[1]] * rest}
        ways.append(("SM split", Shares(f"SMs {split} + {rest}", quotas)))
    for first in range(1, most[0]):
        second = min(most[1], (device.per_sm.threads - first * needs[0].threads) // needs[1].threads)
        if second > 0:
            ways.append(("blocks per SM", Shares(f"blocks {first} + {second}", {pair[0]: first, pair[1]: second})))
    even = [split for split in splits if 0 < split < device.sms and split % 2 == 0]
    return ways + [("green contexts", f"green-contexts:{split},{device.sms - split}") for split in even]


def _residency(runner: CudaRunner, launch: Launch) -> int:
    return runner._loaded[launch].code.occupancy(runner.device.core, launch.block, launch.shared_bytes)


def _rate_alone(runner: CudaRunner, workload: Workload, name: str, repeat: int) -> float:
    prepared = runner.prepare(workload.alone(name))
    return shared_rates(runner.run(prepared, "hardware-streams", repeat, record=False))[0]


def shared_rates(run: Run) -> list[float]:
    """Launches per second of every application while all of them run."""
    ends = [launch_ends_ns(run, index) for index in range(len(run.workload.applications))]
    start = max(run.record.arrivals)
    last = min(each[-1] for each in ends)
    start += round(SKIPPED * (last - start))
    arrivals = run.record.arrivals
    return [_rate(arrival, each, start, last) for arrival, each in zip(arrivals, ends, strict=True)]


def _rate(arrival_ns: int, ends_ns: Sequence[int], start_ns: int, last_ns: int) -> float:
    """Rate between the first end and the last in the window; if there are few, launches in flight count in part."""
    inside = [end for end in ends_ns if start_ns <= end <= last_ns]
    if len(inside) >= ENOUGH_ENDS:
        return (len(inside) - 1) / (inside[-1] - inside[0]) * 1e9
    done = np.interp([start_ns, last_ns], [arrival_ns, *ends_ns], range(len(ends_ns) + 1))
    return float(done[1] - done[0]) / (last_ns - start_ns) * 1e9


def _best_of_each_kind(rows: Sequence[dict[str, object]]) -> list[dict[str, object]]:
    best: dict[object, dict[str, object]] = {}
    for row in rows:
        known = best.get(row["kind"])
        if known is None or not _median(row) <= _median(known):
            best[row["kind"]] = row
    return sorted(({name: row[name] for name in ("kind", "setting", "STP")} for row in best.values()), key=_median)


def _median(row: dict[str, object]) -> float:
    stp = row["STP"]
    assert isinstance(stp, Spread)
    return stp.median if not math.isnan(stp.median) else -1.0
