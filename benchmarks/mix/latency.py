# SPDX-License-Identifier: Apache-2.0
"""Effect of a latency bound of one application, and its cost for the other."""

from __future__ import annotations

import argparse
import math
from dataclasses import replace

import numpy as np
from benchmarks.gpu.report import Report

from gpushare.model.host_pace import HostPace
from gpushare.model.workload import Application, Launch, Workload
from gpushare.results.run import Run

from .place import Place, RealPlace

WAYS = (("auto", 0.0), ("auto", 1.75), ("auto", 1.25), ("auto:reserve_ns=0", 1.75))
"""Policies, and bounds as multiples of the time alone; 0: none."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds this part's options."""
    parser.add_argument("--asking", default="matrix_product", help="a kernel of the suite; its launches have a bound")
    parser.add_argument("--beside", default="nbody", help="a kernel of the suite that always runs")
    parser.add_argument("--bounded", type=int, default=100, help="launches with a bound")
    parser.add_argument("--pauses-us", default="0,1000", help="pauses between them; none on a GPU")


def measure(place: Place | RealPlace, options: argparse.Namespace, report: Report) -> None:
    """Adds a row per pause, policy and bound."""
    asking, beside = (Launch.of_suite(name, options.size) for name in (options.asking, options.beside))
    place.load([asking, beside])
    pauses_us = [0.0] if place.is_real else [float(each) for each in options.pauses_us.split(",")]
    rows = []
    try:
        for pause_us in pauses_us:
            for policy, bound in WAYS:
                rows.append(_row(place, asking, beside, pause_us, policy, bound, options))
                print(rows[-1], flush=True)
    finally:
        report.add(f"{options.asking} with a latency bound beside {options.beside}", rows, NOTE)


NOTE = (
    "The bound is a multiple of the time of a launch alone. In time: launches that ended within it after they were "
    "submitted. The other's speed is relative to that alone, until the last of them has ended."
)


def _row(
    place: Place | RealPlace,
    asking: Launch,
    beside: Launch,
    pause_us: float,
    policy: str,
    bound: float,
    options: argparse.Namespace,
) -> dict[str, object]:
    alone_ns = place.alone_ns(asking)
    paced = asking if place.is_real else _after(asking, 1e3 * pause_us)
    application = Application("asking", options.bounded * (paced,), latency_ns=bound * alone_ns or None)
    longest_ns = options.bounded * (3 * alone_ns + 1e3 * pause_us)
    count = math.ceil(longest_ns / place.alone_ns(beside))
    workload = Workload("latency", (application, Application("other", count * (beside,))))
    ((run, *_),) = place.run([(workload, policy)], 1)
    times_ns = np.array(run.record.operation_durations[: options.bounded])
    return {
        "pause us": pause_us,
        "bound": bound or None,
        "policy": policy,
        "in time": int(np.sum(times_ns <= bound * alone_ns)) if bound else None,
        "launches": options.bounded,
        "p50": float(np.percentile(times_ns, 50) / alone_ns),
        "p99": float(np.percentile(times_ns, 99) / alone_ns),
        "longest": float(times_ns.max() / alone_ns),
        "speed of the other": _speed(run, options.bounded),
    }


def _after(launch: Launch, pause_ns: float) -> Launch:
    return replace(launch, pace=HostPace(after_ns=pause_ns))


def _speed(run: Run, bounded: int) -> float:
    """Speed of the second application, from its finished launches and parts of the one in flight."""
    durations = run.record.operation_durations[bounded:]
    ends = np.cumsum([run.record.arrivals[1], *durations])
    until = run.record.ends[0]
    done = float(np.interp(until, ends, range(len(ends))))
    return done * run.alone_ns["other"] / len(durations) / until
