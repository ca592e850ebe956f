# SPDX-License-Identifier: Apache-2.0
"""EffiSha's Figs. 9 and 10: preemptions by priority, and the delays of a preemption.

For Fig. 9 launches are repeated some time after they have ended; Fig. 10 has the duration of an eviction, and the
waiting time of the preempting launch.
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

from gpushare._core import Device
from gpushare.device import device as find_device
from gpushare.model.device_file import device_from_dict, device_to_dict
from gpushare.model.workload import Application, Workload
from gpushare.policy import Policy
from gpushare.reproduce.effisha_workload import BENCHMARKS, PAPER, Platform, model
from gpushare.reproduce.reproduction import Section
from gpushare.results.run import Run
from gpushare.run import run

if TYPE_CHECKING:
    import pandas as pd

PROBES = 16
PROBE_EVERY_NS = 3_000_000
LONG_PROBE_MS, SHORT_PROBE_MS = 1.0, 0.02
"""Longer than any block, so that a preempted launch has left the GPU before it may return; and as short as possible, so
that slicing the probe itself does not matter."""
ON_GPU = ("RUNNING", "TOEVICT")
"""All blocks of such a slice start at once."""

GOLDEN = 0.6180339887498949
"""Multiples of it, modulo 1, are evenly spread: probes arrive at every phase of the kernel that they preempt."""


def interrupted(platform: Platform, benchmark: str, policy: str | Policy, probe_ms: float) -> Run:
    """The benchmark in a loop, interrupted by urgent launches of a streaming kernel."""
    victim = platform.operations(benchmark, milliseconds=PROBES * PROBE_EVERY_NS / 1e6 * 1.5)
    probe = platform.operations("Triad", probe_ms)
    probes = [
        Application(
            f"probe {number}", probe, arrival_ns=(number + 1 + number * GOLDEN % 1) * PROBE_EVERY_NS, priority=1
        )
        for number in range(PROBES)
    ]
    workload = Workload(benchmark, (Application(benchmark, victim), *probes))
    return run(workload, policy, device=platform.device, seed=platform.seed)


def launch_delay_ns(found: Run) -> float:
    """Mean time of the probes until their first block, in nanoseconds."""
    states = found.kernel_states()
    first = states[states["state"].isin(ON_GPU)].groupby("application")["begin_ns"].min()
    applications = found.workload.applications[1:]
    return float(sum(first[each.name] - each.arrival_ns for each in applications)) / len(applications)


def idle_delay_ns(platform: Platform) -> float:
    """The same on an idle GPU, which is part of every launch delay and no effect of preemption."""
    probe = Application("probe", platform.operations("Triad", SHORT_PROBE_MS))
    states = run(Workload("idle", (probe,)), "fifo", device=platform.device, seed=platform.seed).kernel_states()
    return float(states[states["state"].isin(ON_GPU)]["begin_ns"].min())


def eviction_ms(found: Run) -> pd.Series:
    """Durations of the benchmark's evictions."""
    states = found.kernel_states()
    victim = found.workload.applications[0].name
    evictions = states[(states["application"] == victim) & (states["state"] == "TOEVICT")]
    return (evictions["end_ns"] - evictions["begin_ns"]) / 1e6


def eviction_delays(platform: Platform) -> Section:
    """Fig. 10."""
    import pandas as pd

    rows = {}
    idle_ns = idle_delay_ns(platform)
    for benchmark in BENCHMARKS:
        found = interrupted(platform, benchmark, "effisha-static", LONG_PROBE_MS)
        delays = eviction_ms(found)
        rows[benchmark] = {
            "mean ms": float(delays.mean()),
            "max ms": float(delays.max()),
            "launch delay ms": (launch_delay_ns(found) - idle_ns) / 1e6,
        }
        if platform.is_paper:
            rows[benchmark]["paper ms"] = PAPER["eviction_ms"].get(benchmark, float("nan"))
    table = pd.DataFrame(rows).T
    table.loc["mean"] = table[["mean ms", "max ms", "launch delay ms"]].mean()
    if platform.is_paper:
        table.loc["mean", "paper ms"] = PAPER["eviction_ms"]["mean"]
    note = (
        f"From the plan that takes everything from a kernel to the end of its last block; {PROBES} evictions each. "
        "Launch delay: additional time, relative to an idle GPU, until the preempting launch's first block, which "
        "begins where the first block has ended. "
    )
    if platform.is_paper:
        note += "Block times were chosen so that these figures come out: an input, not a result."
    return Section("Fig. 10: eviction delay", table.map("{:.4f}".format).replace("nan", ""), note)


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
    import pandas as pd

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
