# SPDX-License-Identifier: Apache-2.0
"""Policies over all pairs of many kernels, and over sets of three and four.

The kernels are those of the suite, or those of a workload file (``--workload benchmarks/held_out/kernels.toml``): the
first launch of each application.
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import combinations

from benchmarks.gpu.report import Report
from benchmarks.gpu.spread import geomean
from benchmarks.gpu.suite_on_gpu import TWENTY

from gpushare.model.workload import Launch, Workload
from gpushare.results.intervals import student_quantile

from .place import Place, RealPlace, Together, looping

POLICIES = ("fifo", "even", "mpmax", "srtf", "fair", "mix", "auto")
HARDWARE = ("hardware-streams",)
GREEN_PARTS = (22, 44, 66, 88, 110)
SEED = 5
WORST = 8
JUDGED = "auto"
LOST_BELOW = 0.99


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds this part's options."""
    parser.add_argument(
        "--kernels", help="names, with commas; default: twenty of the suite, or all of the workload file"
    )
    parser.add_argument("--workload", help="a workload file whose kernels are taken, instead of the suite's")
    parser.add_argument("--policies", default=",".join(POLICIES))
    parser.add_argument("--sets", type=int, default=12, help="number of random sets of three, and of four")
    parser.add_argument("--sizes", default="2,3,4", help="kernels of a set; all pairs are measured")
    parser.add_argument(
        "--green-parts",
        default=",".join(map(str, GREEN_PARTS)),
        help="SMs of the first of two, on a GPU",
    )
    parser.add_argument("--seconds", type=float, default=1e9, help="limit for each size; no new set begins after it")


def measure(place: Place | RealPlace, options: argparse.Namespace, report: Report) -> None:
    """Pairs, then threes, then fours."""
    launches = _launches(options)
    place.load(launches.values())
    for size in (int(size) for size in options.sizes.split(",")):
        source = random.Random(SEED)
        if size == 2:
            sets = list(combinations(launches, 2))
            source.shuffle(sets)
        else:
            sets = [tuple(source.sample(list(launches), size)) for _ in range(options.sets)]
        _measure(place, launches, sets, options, report, "pairs" if size == 2 else f"sets of {size}")


def _launches(options: argparse.Namespace) -> dict[str, Launch]:
    named = [name for name in (options.kernels or "").split(",") if name]
    if not options.workload:
        return {name: Launch.of_suite(name, options.size) for name in named or TWENTY}
    known = {}
    for application in Workload.from_toml(options.workload).applications:
        known[application.name] = next(launch for _, launch in application.launches())
    return {name: known[name] for name in named or known}


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
    launches: Mapping[str, Launch],
    sets: Sequence[tuple[str, ...]],
    options: argparse.Namespace,
    report: Report,
    words: str,
) -> None:
    ways = _ways(place, options, len(sets[0]))
    rows: list[dict[str, object]] = []
    every: list[dict[str, object]] = []
    verdicts: list[dict[str, object]] = []
    found: dict[str, list[Together]] = {way: [] for way in ways}
    end = time.monotonic() + options.seconds
    try:
        for names in sets:
            if time.monotonic() > end:
                break
            workload = looping(place, {name: launches[name] for name in names}, options.length_ms)
            title = " + ".join(names)
            runs = {}
            for way, of_way in zip(ways, place.run([(workload, way) for way in ways], options.repeats), strict=True):
                runs[way] = [Together.of(run) for run in of_way]
                every += [{"kernels": title, "way": way, "repeat": i} | asdict(run) for i, run in enumerate(runs[way])]
                found[way].append(_median(runs[way]))
            rows.append({"kernels": title, **{way: found[way][-1].stp for way in ways}})
            if JUDGED in runs and len(ways) > 1:
                verdicts.append({"kernels": title} | against_best(runs))
            print(rows[-1], flush=True)
    finally:
        report.add(f"{words}: STP of each", rows, f"{len(rows)} of {len(sets)}, in random order. {NOTE}")
        report.add(f"{words}: all", [_summary(way, found, len(rows)) for way in ways])
        report.keep(f"{words}: every run", every)
        if verdicts:
            verdicts.sort(key=lambda row: row["ratio"])
            lost = sum(bool(row["lost"]) for row in verdicts)
            report.add(
                f"{words}: {JUDGED} against the best other way of each", verdicts, f"{lost} of {len(verdicts)} lost."
            )


NOTE = (
    "STP: sum of the speeds while all run, relative to those alone; one after the other would be 1. Of green "
    "contexts every split is a separate row."
)


def against_best(runs: Mapping[str, Sequence[Together]]) -> dict[str, object]:
    """``auto`` against the other way with the highest median STP.

    Lost: the 95 % interval of the ratio of runs that were measured one after the other lies below 0.99.
    """
    best = max((way for way in runs if way != JUDGED), key=lambda way: _median(runs[way]).stp)
    ratios = [mine.stp / other.stp for mine, other in zip(runs[JUDGED], runs[best], strict=True)]
    row: dict[str, object] = {"best other": best, "ratio": statistics.median(ratios)}
    reach = 0.0
    if len(ratios) > 1:
        reach = student_quantile(len(ratios) - 1) * statistics.stdev(ratios) / math.sqrt(len(ratios))
    mean = statistics.mean(ratios)
    return row | {"from": mean - reach, "to": mean + reach, "lost": mean + reach < LOST_BELOW}


def _median(runs: Sequence[Together]) -> Together:
    return sorted(runs, key=lambda run: run.stp)[len(runs) // 2]


def _summary(way: str, found: dict[str, list[Together]], count: int) -> dict[str, object]:
    runs = found[way][:count]
    left_out = ("auto", "mix", "green-contexts")  # gpushare's policies, and splits, which have one row each
    others = [found[other] for other in found if other != way and other.partition(":")[0] not in left_out]
    best_other = [max(runs_of[i].stp for runs_of in others) for i in range(count)] if others else []
    return {
        "policy": way,
        "sets": count,
        "STP, geomean": geomean(run.stp for run in runs),
        "least": min((run.stp for run in runs), default=0.0),
        "slowest speed, median": statistics.median(min(run.speeds) for run in runs) if runs else 0.0,
        "STP over whole applications": geomean(run.turnaround_stp for run in runs),
        "ANTT": geomean(run.antt for run in runs),
        "scheduler without processor, most": max((run.waited for run in runs), default=0.0),
        "/ best other, pair by pair": geomean(run.stp / other for run, other in zip(runs, best_other, strict=False)),
    }
