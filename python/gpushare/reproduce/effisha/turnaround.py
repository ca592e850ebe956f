# SPDX-License-Identifier: Apache-2.0
"""EffiSha's Figs. 11, 12 and 15: turnaround, throughput and scheduling overhead of eleven requests in a row."""

from __future__ import annotations

import random

from gpushare.compare import compare
from gpushare.extras import pandas as pd
from gpushare.policy import Policy, policy_name
from gpushare.reproduce.effisha.workload import BENCHMARKS, PAPER, SETTINGS, Platform, table_2
from gpushare.reproduce.reproduction import Section
from gpushare.results.result import Result

STATIC, DYNAMIC = "effisha-static", "effisha-dynamic"
QUANTA_MS = (5, 8)
"""Round robin with these quanta comes near the paper's default bars."""
DRAWS = 16
HIGHEST_RANDOM = 30
"""Section 8.4: "a random integer between 0 and 30"."""


def baselines(platform: Platform) -> list[str | Policy]:
    """The policies without EffiSha; the last one represents the paper's "default"."""
    simulated: list[str | Policy] = ["fifo", *(f"round-robin:quantum_ns={quantum}e6" for quantum in QUANTA_MS)]
    return [*simulated, "hardware-priority", "hardware-streams"] if platform.is_real else simulated


def turnaround_sections(platform: Platform, seeds: int, progress: bool | None = None) -> list[Section]:
    """All of them, from the same runs."""
    compared = [*baselines(platform), "pkm", STATIC, DYNAMIC]
    workloads = [platform.requests(setting, table_2(setting)) for setting in SETTINGS]
    result = compare(workloads, compared, device=platform.device, seed=platform.seed, repeats=seeds, progress=progress)
    default = policy_name(baselines(platform)[-1])
    return [
        each_kernel(result, default, is_paper=platform.is_paper),
        *(setting_section(result, setting, default, is_paper=platform.is_paper) for setting in SETTINGS),
        random_draws(platform, default, progress),
        overhead(result),
    ]


def each_kernel(result: Result, default: str, *, is_paper: bool) -> Section:
    """Fig. 11: the NTT of every kernel."""
    policies = [default, STATIC, DYNAMIC]
    runs = {
        policy: [run for run in result.runs if (run.workload.name, run.policy) == ("sjf", policy)]
        for policy in policies
    }
    rows = {}
    for place, benchmark in enumerate(BENCHMARKS):
        row: dict[str, float] = {"priority": float(BENCHMARKS[benchmark]["sjf"])}
        for policy in policies:
            row[policy] = sum(run.ntt()[place] for run in runs[policy]) / len(runs[policy])
        if is_paper:
            printed = PAPER["ntt"].get(benchmark, {})
            row |= {f"{what} paper": printed.get(what, float("nan")) for what in ("default", "preemptive")}
        rows[benchmark] = row
    table = pd.DataFrame(rows).T.sort_values("priority")
    note = (
        f"Turnaround / time alone, priorities shortest job first, lowest first. The default is {default}. The paper "
        "prints one pair; in its bars the default is 2 to 15, and most of the preemptive ones are below 2."
    )
    return Section("Fig. 11: normalized turnaround of every kernel", table, note)


def setting_section(result: Result, setting: str, default: str, *, is_paper: bool) -> Section:
    """Fig. 12, one group of bars."""
    metrics = result.per_workload().loc[setting]
    printed = PAPER["preemptive"][setting]
    rows = {}
    for policy in metrics.index:
        row = {}
        for metric in ("antt", "stp"):
            row[metric] = metrics.loc[policy, metric]
            row[f"{metric} / default"] = metrics.loc[policy, metric] / metrics.loc[default, metric]
            if is_paper:
                paper = {default: PAPER["default"], DYNAMIC: printed}.get(policy, {})
                row[f"{metric} paper"] = float(paper.get(metric, float("nan")))
                row[f"{metric} / default paper"] = float(paper.get(f"{metric}_ratio", float("nan")))
        rows[policy] = row
    return Section(f"Fig. 12: ANTT and STP, priorities {setting}", pd.DataFrame(rows).T, NOTES[setting])


NOTES = {
    "sjf": (
        "The paper's preemptive scheduler is the dynamic one. Its text calls the ratios a cut of ANTT by 65% and 1.8 "
        "times the throughput."
    ),
    "group": "Priorities of Table 2: two or three neighbours share one. The paper prints ratios only.",
    "random": (
        "Priorities of Table 2. The longest kernel has priority 20 there and two of the shortest 3 and 7, so that "
        "serving by priority makes short ones wait for it."
    ),
}


def random_draws(platform: Platform, default: str, progress: bool | None) -> Section:
    """Table 2's random column is one draw; this section repeats it with others."""
    workloads = []
    for draw in range(DRAWS):
        dice = random.Random(draw)
        priorities = {benchmark: dice.randint(0, HIGHEST_RANDOM) for benchmark in BENCHMARKS}
        workloads.append(platform.requests(f"draw {draw}", priorities))
    policies = [baselines(platform)[-1], STATIC, DYNAMIC]
    result = compare(workloads, policies, device=platform.device, seed=platform.seed, progress=progress)
    metrics = result.per_workload()[["antt", "stp"]].unstack("policy")
    rows = {}
    for policy in (STATIC, DYNAMIC):
        ratios = {metric: metrics[metric][policy] / metrics[metric][default] for metric in ("antt", "stp")}
        rows[policy] = {
            f"{metric} / default, {what}": float(getattr(ratio, what)())
            for metric, ratio in ratios.items()
            for what in ("min", "median", "max")
        }
    note = f"{DRAWS} draws of priorities from 0 to {HIGHEST_RANDOM}. The paper's one draw: ANTT 0.82, STP 1.35."
    return Section("Random priorities, drawn again", pd.DataFrame(rows).T, note)


def overhead(result: Result) -> Section:
    """Fig. 15: increase of the time until the last request has ended."""
    makespans = result.per_workload()["makespan_ns"].unstack("policy")
    table = pd.DataFrame(
        {f"{policy} deviation": makespans[policy] / makespans["fifo"] - 1 for policy in (STATIC, DYNAMIC, "pkm")}
    ).loc[list(SETTINGS)]
    note = (
        "(T' - T) / T, T being the time from the first request to the end of the last kernel under FIFO. The paper: "
        "below 5%, the dynamic scheduler above the static one. What a simulated preemption costs is a device file's "
        "signal and relaunch delays (assumed), and SMs that idle until the last block has left (a result)."
    )
    return Section("Fig. 15: scheduling overhead", table, note)
