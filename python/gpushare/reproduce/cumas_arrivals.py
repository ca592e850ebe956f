# SPDX-License-Identifier: Apache-2.0
"""Beyond CuMAS's evaluation: applications that come by and by, and what the windows are ordered for."""

from __future__ import annotations

import random
from dataclasses import replace

from gpushare.compare import compare
from gpushare.reproduce.cumas import STRINGS, policy_of
from gpushare.reproduce.reproduction import Section
from gpushare.workload import Workload, bundled_workload

APPLICATIONS = 36
MEAN_GAP_MS = 250
"""Between two arrivals. The SMs need some 225 ms for an application in the mean, the uplink 193."""

POLICIES = {
    "streams (fifo)": "fifo",
    "strings": STRINGS,
    "cumas, makespan": policy_of("cumas"),
    "cumas, mean turnaround": policy_of("cumas", ":objective=turnaround"),
    "cumas, weighted turnaround": policy_of("cumas", ":objective=weighted"),
}


def arriving(seed: int, applications: int = APPLICATIONS) -> Workload:
    """Applications of Table 1, drawn at random, with exponential gaps between them; a third have weight 4."""
    dice = random.Random(seed)
    workload = bundled_workload("cumas")
    found = []
    arrival_ns = 0.0
    for number in range(applications):
        drawn = dice.choice(workload.applications)
        weight = 4.0 if dice.random() < 1 / 3 else 1.0
        found.append(replace(drawn, name=f"{number} {drawn.name}", arrival_ns=round(arrival_ns), weight=weight))
        arrival_ns += dice.expovariate(1 / (MEAN_GAP_MS * 1e6))
    return replace(workload, name=f"arrivals {seed}", applications=tuple(found))


def arrivals_section(seeds: int, progress: bool | None) -> Section:
    """An open stream of applications under every objective."""
    import pandas as pd

    result = compare([arriving(seed) for seed in range(seeds)], list(POLICIES.values()), progress=progress)
    rows = {}
    for name, policy in POLICIES.items():
        tables = [each.applications() for each in result.runs if each.policy == policy]
        weights = [[each.weight for each in run.workload.applications] for run in result.runs if run.policy == policy]
        turnarounds = [table["turnaround_ns"] / 1e6 for table in tables]
        rows[name] = {
            "last end, ms": sum(table["end_ns"].max() for table in tables) / seeds / 1e6,
            "mean turnaround, ms": sum(each.mean() for each in turnarounds) / seeds,
            "weighted turnaround, ms": sum(
                sum(each * weight) / sum(weight) for each, weight in zip(turnarounds, weights, strict=True)
            )
            / seeds,
            "longest, ms": sum(each.max() for each in turnarounds) / seeds,
        }
    note = (
        f"Not in the paper: {APPLICATIONS} applications of Table 1, drawn at random, {MEAN_GAP_MS} ms apart in the "
        f"mean (exponential), {seeds} streams; windows of 8. A third of the applications have weight 4, the others 1."
    )
    return Section("Open arrivals, and what windows are ordered for", pd.DataFrame(rows).T, note)
