# SPDX-License-Identifier: Apache-2.0
"""EffiSha's Fig. 10: duration of an eviction, and waiting time of the preempting launch."""

from __future__ import annotations

from gpushare.extras import pandas as pd
from gpushare.model.workload import Application, Workload
from gpushare.policy import Policy
from gpushare.reproduce.effisha.workload import BENCHMARKS, PAPER, Platform
from gpushare.reproduce.reproduction import Section
from gpushare.results.run import Run
from gpushare.run import run

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
