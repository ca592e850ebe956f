# SPDX-License-Identifier: Apache-2.0
"""Short launches of high priority that arrive at random, at half load, beside an application that always runs."""

from __future__ import annotations

import argparse
import math
import random
from dataclasses import dataclass

import numpy as np
from benchmarks.gpu.report import Report

from gpushare.model.workload import Application, Launch, Workload
from gpushare.results.run import Run

from .place import Place, RealPlace

LONG = ("triad", "stencil_2d", "mandelbrot", "matrix_product", "nbody", "spmv_csr")
SHORT = ("reduction", "triad")
POLICIES = ("fifo", "srtf", "effisha-static", "auto:reserve_share=0", "auto", "auto:reserve_share=0.3")
HARDWARE = ("hardware-streams", "hardware-priority")
SEED = 11


@dataclass(frozen=True)
class Arrivals:
    """Arrivals of the short launches, and the time of each alone."""

    launch: Launch
    times_ns: tuple[float, ...]
    alone_ns: float


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds this part's options."""
    parser.add_argument("--long", default=",".join(LONG), help="kernels of the suite, with commas")
    parser.add_argument("--short", default=",".join(SHORT), help="kernels of the suite, with commas")
    parser.add_argument("--short-size", default="small", choices=["small", "large"], help="size of their data")
    parser.add_argument("--short-layers", type=int, default=1, help="layers of each of their launches")
    parser.add_argument("--urgent", type=int, default=100, help="short launches in a run")
    parser.add_argument(
        "--urgent-policies", default=",".join(POLICIES), help="policies to compare with the hardware's scheduling"
    )


def measure(place: Place | RealPlace, options: argparse.Namespace, report: Report) -> None:
    """Adds a row per pair and policy."""
    long_names = [name for name in options.long.split(",") if name]
    short_names = [name for name in options.short.split(",") if name]
    place.load([Launch.of_suite(name, options.size) for name in long_names])
    shorts = [Launch.of_suite(name, options.short_size, layers=options.short_layers) for name in short_names]
    place.load(shorts)
    rows = []
    try:
        for short in shorts:
            arrivals = _arrivals(place, short, options.urgent)
            for name in long_names:
                rows += _rows(place, name, arrivals, options)
    finally:
        report.add("Urgent launches beside an application that always runs", rows, NOTE)


NOTE = (
    "The short launches arrive at random (exponential gaps, the same under every policy), on the average every two "
    "times as long as one takes alone; each is a separate application with priority 1. p50 and p99: turnaround / "
    "that of the same launches without the long application, on a stream. Throughput kept: the long one's speed while "
    "they come, relative to that alone; where the short ones fill the GPU they leave it half of it."
)


def _arrivals(place: Place | RealPlace, launch: Launch, count: int) -> Arrivals:
    alone_ns = place.alone_ns(launch)
    source = random.Random(SEED)
    times, now = [], 0.0
    for _ in range(count):
        now += source.expovariate(1 / (2 * alone_ns))
        times.append(float(round(now)))
    return Arrivals(launch, tuple(times), alone_ns)


def _rows(
    place: Place | RealPlace, name: str, arrivals: Arrivals, options: argparse.Namespace
) -> list[dict[str, object]]:
    launch = Launch.of_suite(name, options.size)
    span_ns = arrivals.times_ns[-1] + 2 * arrivals.alone_ns
    count = max(1, math.ceil(1.1 * span_ns / place.alone_ns(launch)))
    urgent = tuple(
        Application(f"urgent {number}", (arrivals.launch,), time, priority=1)
        for number, time in enumerate(arrivals.times_ns)
    )
    together = Workload(f"urgent beside {name}", (Application("long", count * (launch,)), *urgent))
    by_themselves = Workload("urgent alone", urgent)
    ways = [*(HARDWARE if place.is_real else ()), *filter(None, options.urgent_policies.split(","))]
    baseline = "hardware-streams" if place.is_real else "fifo"
    (alone,) = place.run([(by_themselves, baseline)], options.repeats)
    alone_us = np.concatenate([_turnarounds_us(run, 0) for run in alone])
    rows = []
    for way, runs in zip(ways, place.run([(together, way) for way in ways], options.repeats), strict=True):
        times = np.concatenate([_turnarounds_us(run, 1) for run in runs])
        rows.append(
            {
                "short": arrivals.launch.kernel.name,
                "blocks": arrivals.launch.blocks,
                "alone us": float(np.percentile(alone_us, 50)),
                "long": name,
                "policy": way,
                "p50": float(np.percentile(times, 50) / np.percentile(alone_us, 50)),
                "p99": float(np.percentile(times, 99) / np.percentile(alone_us, 99)),
                "p99 us": float(np.percentile(times, 99)),
                "throughput kept": float(np.median([_kept(run, span_ns) for run in runs])),
            }
        )
    return rows


def _turnarounds_us(run: Run, first: int) -> np.ndarray:
    return (np.array(run.record.ends[first:]) - np.array(run.record.arrivals[first:])) / 1e3


def _kept(run: Run, span_ns: float) -> float:
    """Share of the long application's work that was done until the last short launch had arrived."""
    count = len(run.workload.applications[0].operations)
    times = np.cumsum([run.record.arrivals[0], *run.record.operation_durations[:count]])
    return float(np.interp(span_ns, times, range(count + 1))) / count * run.alone_ns["long"] / span_ns
