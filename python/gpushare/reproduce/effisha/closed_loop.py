# SPDX-License-Identifier: Apache-2.0
"""EffiSha's Fig. 9: preemptions by priority, when launches are repeated some time after they have ended."""

from __future__ import annotations

import random
from dataclasses import replace

from gpushare._core import Device
from gpushare.device import device as find_device
from gpushare.extras import pandas as pd
from gpushare.model.device_file import device_from_dict, device_to_dict
from gpushare.model.workload import Application, Workload
from gpushare.reproduce.effisha.workload import BENCHMARKS, model
from gpushare.reproduce.reproduction import Section
from gpushare.results.run import Run
from gpushare.run import run

WAITS_MS = (1, 4, 16, 64)
PRIORITIES = range(1, 10)
ROUNDS = 12
"""Launches of each benchmark; the paper has 91 on average."""

BLOCK_MS = 0.1
"""Block time of all kernels here: the number of preemptions does not depend on the time that they take."""
CLOSED_WITHIN_NS = 1_000
MOST_RUNS = 1_000


def preemptions_by_priority(seeds: int) -> Section:
    """Evictions per 1000 launches, by wait time and priority."""
    rows = {}
    for wait_ms in WAITS_MS:
        found = [closed_loop(wait_ms * 1e6, seed) for seed in range(seeds)]
        tables = pd.concat([each.preemptions() for each in found]).groupby("priority")["preemptions"]
        per_launch = tables.sum() / tables.count()
        rows[f"{wait_ms} ms"] = {
            f"priority {priority}": 1000 * float(per_launch.get(priority, 0)) for priority in PRIORITIES
        }
    note = (
        f"Evictions per 1000 launches of this priority, of {len(BENCHMARKS) * ROUNDS * seeds} launches per wait time, "
        "under effisha-static; every launch has a random priority from 1 to 9 and comes the wait time after the one "
        "before it has ended. The paper shows bars: fewer with a higher priority, and fewer with a longer wait. "
        "Simulated on one SM, with blocks of 0.1 ms."
    )
    return Section("Fig. 9: evictions by priority", pd.DataFrame(rows).T, note)


def closed_loop(wait_ns: float, seed: int) -> Run:
    """A closed loop: every launch arrives `wait_ns` after the previous one has ended.

    A workload's arrivals are fixed, so they are found by iteration: each run gives the ends of launches, and from them
    the next arrivals. Arrivals that are right up to some time stay right, and that time grows with every run.
    """
    device = one_sm()
    dice = random.Random(seed)
    applications = [
        Application(
            f"{benchmark} {number}",
            [model(benchmark, BENCHMARKS[benchmark]["alone_ms"], device, BLOCK_MS)],
            priority=dice.choice(PRIORITIES),
        )
        for benchmark in BENCHMARKS
        for number in range(ROUNDS)
    ]
    for _ in range(MOST_RUNS):
        workload = Workload("closed loop", tuple(applications))
        found = run(workload, "effisha-static", device=device, seed=seed, record=False)
        arrivals = [
            found.record.ends[place - 1] + wait_ns if place % ROUNDS else 0.0 for place in range(len(applications))
        ]
        wrong_ns = [abs(each.arrival_ns - arrival) for each, arrival in zip(applications, arrivals, strict=True)]
        if max(wrong_ns) <= CLOSED_WITHIN_NS:
            return found
        applications = [replace(each, arrival_ns=arrival) for each, arrival in zip(applications, arrivals, strict=True)]
    raise RuntimeError(f"the arrivals of {len(applications)} launches were not found in {MOST_RUNS} runs")


def one_sm() -> Device:
    """The K40m with one SM: grids are fifteen times smaller, times the same."""
    return device_from_dict(device_to_dict(find_device("k40m")) | {"sms": 1})
