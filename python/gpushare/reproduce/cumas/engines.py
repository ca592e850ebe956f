# SPDX-License-Identifier: Apache-2.0
"""CuMAS, Figs. 9 and 10: idle times of SMs and downlink within a run, and the time to find an order."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Iterable

from gpushare import _core
from gpushare.extras import pandas as pd
from gpushare.model.operation import Copy, Launch
from gpushare.model.workload import Workload
from gpushare.reproduce.cumas.runs import LATENCY_NS, NS_PER_BYTE, PAPER, STRINGS, latency_of, permutations, policy_of
from gpushare.reproduce.reproduction import Section
from gpushare.run import run

MOST_BRUTE_FORCE = 10
ORDERINGS_TIMED = 25


def idle_ms(spans: Iterable[tuple[int, int]]) -> float:
    """Idle time between the first start and the last end, in milliseconds.

    >>> idle_ms([(0, 1_000_000), (500_000, 2_000_000), (5_000_000, 6_000_000)])
    3.0
    """
    ordered = sorted(spans)
    latest = ordered[0][1]
    idle = 0
    for start, end in ordered:
        idle += max(0, start - latest)
        latest = max(latest, end)
    return idle / 1e6


def idle_of(workload: Workload, policy: str) -> tuple[float, float]:
    """Idle times of the SMs and the downlink within a run, in milliseconds."""
    made = run(workload, policy)
    launches = made.launches()
    copies = made.copies()
    to_host = copies[copies["direction"] == "to_host"]
    return (
        idle_ms(zip(launches["arrival_ns"], launches["end_ns"], strict=True)),
        idle_ms(zip(to_host["start_ns"], to_host["end_ns"], strict=True)),
    )


def idle_section(orders: list[Workload], windows: tuple[int, ...]) -> Section:
    """Fig. 9: idle time of the P and R channels."""
    policies = {"strings": STRINGS}
    for window in windows:
        policies[f"cumas-dp, w = {window}"] = policy_of("cumas-dp", f":window={window}")
        policies[f"cumas, w = {window}"] = policy_of("cumas", f":window={window}")
    rows = {}
    for name, policy in policies.items():
        sms, downlink = zip(*(idle_of(each, policy) for each in orders), strict=True)
        rows[name] = {"P (SMs), ms": statistics.mean(sms), "R (to host), ms": statistics.mean(downlink)}
    note = (
        "Sum of the gaps between the first and the last kernel, and between the first and the last copy to the host, "
        f"mean over {len(orders)} permutations. The paper's own are curves; it says that CuMAS keeps both below "
        "Strings, and that R is idle for longer."
    )
    return Section("Fig. 9: idle time", pd.DataFrame(rows).T, note)


def tasks_of_table_1() -> list[tuple[int, int, int]]:
    """The first task of each application, as its times on the three engines in nanoseconds."""
    tasks = []
    for application in permutations(1)[0].applications:
        times = {"to_device": 0.0, "launch": 0.0, "to_host": 0.0}
        for operation in application.operations:
            if isinstance(operation, Launch):
                times["launch"] += latency_of(operation)
            elif isinstance(operation, Copy):
                if operation.direction == "to_device" and times["launch"] > 0:
                    break
                times[operation.direction] += operation.bytes * NS_PER_BYTE + LATENCY_NS
        tasks.append((round(times["to_device"]), round(times["launch"]), round(times["to_host"])))
    return tasks


def solving_ms(ordering: str, size: int) -> float:
    """Median time in which an ordering solves random windows of this size."""
    tasks = tasks_of_table_1()
    shuffler = random.Random(size)
    times = []
    for _ in range(ORDERINGS_TIMED if ordering != "cumas-bf" or size <= 8 else 3):
        window = shuffler.sample(tasks, size)
        start = time.perf_counter()
        _core.order_tasks(window, ordering, nodes=10**9)
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


def overhead_section(sizes: tuple[int, ...]) -> Section:
    """Fig. 10: scheduling overhead."""
    rows = {}
    for size in sizes:
        row = {}
        for name, ordering in (("brute-force", "cumas-bf"), ("dp", "cumas-dp"), ("exact", "cumas")):
            row[f"{name} paper"] = PAPER["overhead_ms"].get(name, {}).get(str(size), float("nan"))
            row[name] = round(solving_ms(ordering, size), 4) if _is_timed(ordering, size) else float("nan")
        rows[f"w = {size}"] = {name: "" if value != value else f"{value:g}" for name, value in row.items()}
    note = (
        "Milliseconds for one window of tasks of Table 1, the median of 25 (brute force beyond 8: of 3), on the "
        "machine that made this page. 'exact' proves its order best, as brute force does."
    )
    return Section("Fig. 10: scheduling overhead", pd.DataFrame(rows).T, note)


def _is_timed(ordering: str, size: int) -> bool:
    return ordering != "cumas-bf" or size <= MOST_BRUTE_FORCE
