# SPDX-License-Identifier: Apache-2.0
"""Overhead of the server for applications: kernels of the suite, through it and in a session of this process."""

from __future__ import annotations

import argparse
import math
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import gpushare as gs
from gpushare.daemon.client.session import DaemonSession
from gpushare.model.workload import Launch

from .processes import server
from .report import Report
from .session_launcher import SessionLauncher, Wait
from .spread import Spread, geomean, ratios
from .suite_on_gpu import TWENTY

REPEATS = 5
AHEAD = 4
"""Launches in flight, so that the device is never idle."""
FIRST_LAUNCHES = 10
"""Launches from which the length of a run follows; by then block times and the faster execution mode are known."""
AIM = 1.01

NOTE = (
    "An application makes its arrays from NumPy's, launches its kernel repeatedly with four launches in flight, and "
    "fetches all arrays. Launches: from the first submission until the last end was known. In the process and through "
    "the server alternately, under the same policy, each alone. Medians (p10..p90); ratios of consecutive runs."
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds this benchmark's options."""
    parser.add_argument("--kernels", default=",".join(TWENTY), help="kernels of the suite, with commas")
    parser.add_argument("--size", default="large", choices=["small", "large"])
    parser.add_argument("--policies", default="auto", help="one policy, for both")
    parser.add_argument("--length-ms", type=float, default=200.0, help="length of a run's launches; default 200")


@dataclass(frozen=True)
class Times:
    """Times of one run, in milliseconds.

    Attributes:
        launches: the launches alone.
        all: with making the arrays before and fetching them after.
    """

    launches: float
    all: float


def measure(options: argparse.Namespace, report: Report) -> None:
    """Adds a row per kernel."""
    rows: list[dict[str, object]] = []
    with server(options) as (_, served):
        try:
            launches = (Launch.of_suite(name, options.size) for name in options.kernels.split(","))
            rows.extend(_row(launch, served, options) for launch in launches)
        finally:
            report.add("Through the server, against a session in the process", rows, NOTE)
            report.add("All", [_summary(what, rows) for what in ("launches", "all") if rows])


def _row(launch: Launch, served: DaemonSession, options: argparse.Namespace) -> dict[str, object]:
    first_ms = warm_up(served, options.device, launch)
    count = max(FIRST_LAUNCHES, math.ceil(FIRST_LAUNCHES * options.length_ms / first_ms))
    in_process, through_server = [], []
    for _ in range(options.repeats):
        with gs.Session(options.device, options.policies, measure_alone=False, keeps_record=False) as session:
            warm_up(session, options.device, launch)
            in_process.append(run(session, options.device, launch, count))
        through_server.append(run(served, options.device, launch, count))
    row: dict[str, object] = {"kernel": launch.kernel.name, "launches": count}
    for what in ("launches", "all"):
        own, theirs = ([getattr(each, what) for each in times] for times in (in_process, through_server))
        row |= {f"{what}, ms": Spread.of(own), f"{what}, served / own": ratios(theirs, own)}
    return row


def warm_up(session: gs.Session | DaemonSession, device: str, launch: Launch) -> float:
    """Milliseconds of the first launches, by another application."""
    launcher = SessionLauncher(session, device, launch)
    took_ms = in_a_row(launcher, FIRST_LAUNCHES)
    launcher.close()
    return took_ms


def run(session: gs.Session | DaemonSession, device: str, launch: Launch, count: int) -> Times:
    """Times of an application from its start to its end."""
    begin = time.perf_counter()
    launcher = SessionLauncher(session, device, launch)
    launches_ms = in_a_row(launcher, count)
    for array in launcher.arrays:
        array.numpy()
    all_ms = (time.perf_counter() - begin) * 1e3
    launcher.close()
    return Times(launches_ms, all_ms)


def in_a_row(launcher: SessionLauncher, count: int) -> float:
    """Milliseconds of this number of launches."""
    waiting: deque[Wait] = deque()
    begin = time.perf_counter()
    for _ in range(count):
        if len(waiting) == AHEAD:
            waiting.popleft()()
        waiting.append(launcher.launch())
    while waiting:
        waiting.popleft()()
    return (time.perf_counter() - begin) * 1e3


def _summary(what: str, rows: Sequence[dict[str, object]]) -> dict[str, object]:
    medians = [row[f"{what}, served / own"].median for row in rows]
    return {
        "of": what,
        "kernels": len(medians),
        "served / own, geomean": geomean(medians),
        "most": max(medians),
        f"within {AIM}": sum(each <= AIM for each in medians),
    }
