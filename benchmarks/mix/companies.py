# SPDX-License-Identifier: Apache-2.0
"""Policies over all pairs of many kernels, and over co-run sets of three and four."""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Sequence
from itertools import combinations

from benchmarks.gpu.report import Report
from benchmarks.gpu.spread import geomean
from benchmarks.gpu.suite_on_gpu import TWENTY

from gpushare.model.workload import Launch

from .place import Place, RealPlace, Together, looping

POLICIES = ("fifo", "even", "mpmax", "srtf", "fair", "mix", "auto")
HARDWARE = ("hardware-streams",)
GREEN_PARTS = (22, 44, 66, 88, 110)
SEED = 5
WORST = 8


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds this part's options."""
    parser.add_argument("--kernels", default=",".join(TWENTY), help="kernels of the suite, with commas")
    parser.add_argument("--policies", default=",".join(POLICIES))
    parser.add_argument("--companies", type=int, default=12, help="number of random co-run sets of three, and of four")
    parser.add_argument("--sizes", default="2,3,4", help="sizes of co-run sets; all pairs are measured")
    parser.add_argument(
        "--green-parts",
        default=",".join(map(str, GREEN_PARTS)),
        help="SMs of the first of two, on a GPU",
    )
    parser.add_argument("--seconds", type=float, default=1e9, help="limit for each size; no new set begins after it")


def measure(place: Place | RealPlace, options: argparse.Namespace, report: Report) -> None:
    """Pairs, then threes, then fours."""
    names = [name for name in options.kernels.split(",") if name]
    place.load(Launch.of_suite(name, options.size) for name in names)
    for size in (int(size) for size in options.sizes.split(",")):
        source = random.Random(SEED)
        if size == 2:
            companies = list(combinations(names, 2))
            source.shuffle(companies)
        else:
            companies = [tuple(source.sample(names, size)) for _ in range(options.companies)]
        _measure(place, companies, options, report, "pairs" if size == 2 else f"sets of {size}")


def _ways(place: Place | RealPlace, options: argparse.Namespace, size: int) -> list[str]:
    ways = [name for name in options.policies.split(",") if name]
    if not place.is_real:
        return ways
    sms = place.description.sms
    parts = [int(part) for part in options.green_parts.split(",") if part]
    green = [f"green-contexts:{part},{sms - part}" for part in parts if part < sms] if size == 2 else []
    return [*HARDWARE, *green, *ways]


def _measure(
    place: Place | RealPlace,
    companies: Sequence[tuple[str, ...]],
    options: argparse.Namespace,
    report: Report,
    words: str,
) -> None:
    ways = _ways(place, options, len(companies[0]))
    rows: list[dict[str, object]] = []
    found: dict[str, list[Together]] = {way: [] for way in ways}
    end = time.monotonic() + options.seconds
    try:
        for names in companies:
            if time.monotonic() > end:
                break
            workload = looping(place, names, options.length_ms, options.size)
            for way, runs in zip(ways, place.run([(workload, way) for way in ways], options.repeats), strict=True):
                found[way].append(_median([Together.of(run) for run in runs]))
            rows.append({"kernels": " + ".join(names), **{way: found[way][-1].stp for way in ways}})
            print(rows[-1], flush=True)
    finally:
        report.add(f"{words}: STP of each", rows, f"{len(rows)} of {len(companies)}, in random order. {NOTE}")
        report.add(f"{words}: all", [_summary(way, found, len(rows)) for way in ways])
        if "auto" in found:
            rows.sort(key=lambda row: row["auto"])
            report.add(f"{words}: where auto gains least", rows[:WORST])


NOTE = (
    "STP: sum of the speeds while all run, relative to those alone; one after the other would be 1. Of green "
    "contexts every split is a separate row."
)


def _median(runs: Sequence[Together]) -> Together:
    return sorted(runs, key=lambda run: run.stp)[len(runs) // 2]


def _summary(way: str, found: dict[str, list[Together]], count: int) -> dict[str, object]:
    runs = found[way][:count]
    left_out = ("auto", "mix", "green-contexts")  # gpushare's policies, and splits, which have one row each
    others = [found[other] for other in found if other != way and other.partition(":")[0] not in left_out]
    best_other = [max(runs_of[i].stp for runs_of in others) for i in range(count)] if others else []
    return {
        "policy": way,
        "companies": count,
        "STP, geomean": geomean(run.stp for run in runs),
        "least": min((run.stp for run in runs), default=0.0),
        "slowest speed, median": statistics.median(min(run.speeds) for run in runs) if runs else 0.0,
        "STP over whole applications": geomean(run.turnaround_stp for run in runs),
        "ANTT": geomean(run.antt for run in runs),
        "scheduler without processor, most": max((run.waited for run in runs), default=0.0),
        "/ best other, pair by pair": geomean(run.stp / other for run, other in zip(runs, best_other, strict=False)),
    }
