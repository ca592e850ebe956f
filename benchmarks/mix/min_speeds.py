# SPDX-License-Identifier: Apache-2.0
"""Cost of a least speed for one of two applications."""

from __future__ import annotations

import argparse
import random
import statistics
from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations

from benchmarks.gpu.report import Report
from benchmarks.gpu.spread import geomean
from benchmarks.gpu.suite_on_gpu import TWENTY

from gpushare.model.workload import Launch, Workload

from .place import Place, RealPlace, Together, looping

MIN_SPEEDS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9)
SEED = 17


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds this part's options."""
    parser.add_argument("--min-speed-kernels", default=",".join(TWENTY), help="kernels of the suite, with commas")
    parser.add_argument("--min-speed-policies", default="auto,mix:equal_start=no")
    parser.add_argument(
        "--min-speeds", default=",".join(map(str, MIN_SPEEDS)), help="least speeds of the first of two; 0: none"
    )
    parser.add_argument("--min-speed-pairs", type=int, default=40, help="number of random pairs")


def measure(place: Place | RealPlace, options: argparse.Namespace, report: Report) -> None:
    """Adds a row per policy and least speed."""
    names = [name for name in options.min_speed_kernels.split(",") if name]
    policies = [name for name in options.min_speed_policies.split(",") if name]
    launches = {name: Launch.of_suite(name, options.size) for name in names}
    place.load(launches.values())
    pairs = list(permutations(names, 2))
    chosen = random.Random(SEED).sample(pairs, min(options.min_speed_pairs, len(pairs)))
    workloads = [looping(place, {name: launches[name] for name in pair}, options.length_ms) for pair in chosen]
    rows = []
    try:
        for policy in policies:
            rows += _rows(place, workloads, policy, options)
    finally:
        report.add("What minimum speeds cost", rows, NOTE)


NOTE = (
    "The first of two asks for the minimum speed. Speeds in the second half of the time in which both run, relative "
    "to those alone. Kept: pairs in which the first has its minimum speed, and 0.97 of it; least: the least speed of "
    "a first / its minimum speed. STP: sum of the speeds, geomean."
)


def _asking(workload: Workload, min_speed: float) -> Workload:
    first, second = workload.applications
    return replace(workload, applications=(replace(first, min_speed=min_speed or None), second))


def _rows(
    place: Place | RealPlace, workloads: Sequence[Workload], policy: str, options: argparse.Namespace
) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for min_speed in map(float, options.min_speeds.split(",")):
        runs = place.run([(_asking(workload, min_speed), policy) for workload in workloads], 1)
        found = [Together.of(run, after=0.5) for (run,) in runs]
        firsts, seconds = zip(*(each.speeds for each in found), strict=True)
        stp = geomean(each.stp for each in found)
        rows.append(
            {
                "policy": policy,
                "min_speed": min_speed,
                "pairs": len(found),
                "kept": sum(speed >= min_speed for speed in firsts),
                "kept, 0.97 of it": sum(speed >= 0.97 * min_speed for speed in firsts),
                "least / min_speed": min(firsts) / min_speed if min_speed else None,
                "the first's speed, median": statistics.median(firsts),
                "the other's": statistics.median(seconds),
                "least of the other's": min(seconds),
                "STP": stp,
                "/ without a min_speed": stp / rows[0]["STP"] if rows else 1.0,
            }
        )
        print(rows[-1], flush=True)
    return rows
