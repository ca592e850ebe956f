# SPDX-License-Identifier: Apache-2.0
"""A short kernel arrives while a long application runs: its turnaround by policy, and the slowdown of the long one."""

from __future__ import annotations

import argparse
import math
import random
from collections import defaultdict

from gpushare._core import State
from gpushare.backends.cuda.run import CudaRunner
from gpushare.model.workload import Application, Launch, Workload
from gpushare.policy import Plan, Policy

from .report import Report
from .spread import Spread
from .suite_on_gpu import alone, repeated, runner_with, turnaround_ns

REPEATS = 12
LONG = ("triad", "stencil_2d", "mandelbrot", "matrix_product", "nbody")
SHORT = {"reduction, 10 blocks": "reduction", "triad, 4 blocks": "triad"}


class MoreUrgentFirst(Policy):
    """Ranks launches by priority; lower ranks may use the remaining room."""

    name = "priority in Python"

    def decide(self, state: State) -> Plan:
        """All launches, the most urgent first."""
        ranked = sorted(state.running, key=lambda launch: (-launch.priority, launch.arrival_ns))
        return Plan({launch: launch.max_residency for launch in ranked})


POLICIES = ("hardware-streams", "hardware-priority", "fifo", "srtf", "srtf-zero-sampling", MoreUrgentFirst())


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds this benchmark's options."""
    parser.add_argument("--long", default=",".join(LONG), help="kernels of the suite, with commas")
    parser.add_argument("--long-ms", type=float, default=12.0, help="the long application's time alone, at least")
    parser.add_argument("--size", default="large", choices=["small", "large"], help="size of the long kernels")
    parser.add_argument("--seed", type=int, default=0, help="seed of the arrivals")


def measure(options: argparse.Namespace, report: Report) -> None:
    """Measures every long application with every short kernel."""
    long_launches = {name: Launch.of_suite(name, options.size) for name in options.long.split(",") if name}
    short_launches = {words: Launch.of_suite(name, "small") for words, name in SHORT.items()}
    runner = runner_with(options.device, [*long_launches.values(), *short_launches.values()])
    short_rows, long_rows = [], []
    for words, short in short_launches.items():
        for name, launch in long_launches.items():
            turnarounds, slowdowns = _pair(runner, name, launch, short, options)
            common = {"short": words, "long": name}
            alone_us = runner._alone(alone("short", short), "short").turnaround_ns / 1e3
            by_policy = {policy: Spread.of(values) for policy, values in turnarounds.items()}
            short_rows.append({**common, "alone": alone_us, **by_policy})
            long_rows.append({**common, **{policy: Spread.of(values) for policy, values in slowdowns.items()}})
    report.add(
        "Turnaround of the short kernel, us",
        short_rows,
        f"Medians (p10..p90) of {options.repeats} repeats, policies alternately; it arrives at a random time in the "
        f"middle of the long application, which launches its kernel until it has run {options.long_ms:g} ms alone. "
        "Under gpushare's policies time counts from the planned time of the arrival, under the hardware's "
        "from the time at which it was observed.",
    )
    report.add("Slowdown of the long application: turnaround / alone as original kernels", long_rows)


def _pair(
    runner: CudaRunner, name: str, launch: Launch, short: Launch, options: argparse.Namespace
) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """By policy: turnarounds of the short one in microseconds, slowdowns of the long one."""
    one_ns = runner._alone(alone(name, launch), name).turnaround_ns
    count = max(1, math.ceil(options.long_ms * 1e6 / one_ns))
    applications = (repeated("long", launch, count), Application("short", (short,), priority=1))
    pair = Workload(f"short behind {name}", applications)
    runner.warm_up(runner.prepare(pair))
    long_ns = runner._alone(pair, "long").turnaround_ns
    source = random.Random(options.seed)
    turnarounds: dict[str, list[float]] = defaultdict(list)
    slowdowns: dict[str, list[float]] = defaultdict(list)
    for repeat in range(options.repeats):
        prepared = runner.prepare(pair.arriving(short=round(source.uniform(0.2, 0.7) * long_ns)))
        for policy in POLICIES:
            run = runner.run(prepared, policy, repeat, record=False)
            turnarounds[run.policy].append(turnaround_ns(run, 1) / 1e3)
            slowdowns[run.policy].append(turnaround_ns(run, 0) / long_ns)
    return turnarounds, slowdowns
