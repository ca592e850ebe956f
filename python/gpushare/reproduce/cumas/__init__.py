# SPDX-License-Identifier: Apache-2.0
"""CuMAS's evaluation on a simulated K40c; the entry point is :func:`reproduce`.

Copies are those of Table 1. The paper prints no kernel times: they are assumed in ``workloads/cumas.toml``, and a
section shows the effect of that assumption.
"""

from __future__ import annotations

from itertools import takewhile

from gpushare.compare import compare
from gpushare.extras import pandas as pd
from gpushare.model.operation import Copy, Launch
from gpushare.model.workload import Workload, bundled_workload
from gpushare.reproduce.cumas.engines import idle_section, overhead_section
from gpushare.reproduce.cumas.estimates import kernel_section, transfer_section
from gpushare.reproduce.cumas.runs import (
    LATENCY_NS,
    NS_PER_BYTE,
    PAPER,
    PER_SET,
    STRINGS,
    latency_of,
    permutations,
    policy_of,
)
from gpushare.reproduce.reproduction import Reproduction, Section

WINDOWS = (2, 4, 6, 8, 10)
SOLVERS = {"cumas-dp": "", "cumas": "", "cumas-bf": ":assume_idle_engines=yes:search_steps=20000000"}
"""Options by ordering. The paper's brute force does not see the rest of the previous window."""

TWO_IN_KERNELS = (("strings", ""), ("cumas", ":window=10"), ("cumas", ":window=12"))
"""Beyond the paper: a task with short kernels need not wait for one long kernel of the previous task."""

BOUND = "no order can beat"
ALONE_S = (0.5, 0.6, 0.75, 1.0, 2.0)
"""Lengths of applications alone, from "between 500 msecs and 2 seconds"."""


def reproduce(*, seeds: int = 1, quick: bool = False, progress: bool | None = None) -> Reproduction:
    """Figs. 8 to 12, over 25 permutations that are drawn once. Nothing varies from seed to seed: ``seeds`` is 1."""
    orders = permutations(1 if quick else PER_SET)
    times = total_times(orders, contenders((4, 8) if quick else WINDOWS), progress)
    sections = [
        total_section(times),
        set_section(times),
        idle_section(orders[:: 1 if quick else PER_SET], (8,) if quick else WINDOWS),
        overhead_section((4, 8) if quick else (2, 4, 6, 8, 10, 12)),
        transfer_section(),
        kernel_section(),
    ]
    if not quick:
        sections.append(length_section(progress))
    return Reproduction("CuMAS: transfer-aware ordering (Belviranli et al. 2016)", tuple(sections))


def varies(_device: str | None) -> bool:
    """False: the permutations are fixed, and each runs once."""
    return False


def contenders(windows: tuple[int, ...]) -> list[str]:
    """Strings, and every solver with every window."""
    found = [STRINGS, "fifo"]
    for solver, options in SOLVERS.items():
        found += [policy_of(solver, f":window={window}{options}") for window in windows]
    two_in_kernels = (policy_of(ordering, f"{window}:kernels=2") for ordering, window in TWO_IN_KERNELS)
    return [*found, policy_of("cumas", ":window=8:pieces=short"), *two_in_kernels]


def total_times(orders: list[Workload], policies: list[str], progress: bool | None) -> pd.DataFrame:
    """Total time in milliseconds: a row per permutation, a column per policy."""
    result = compare(orders, policies, progress=progress)
    return result.per_workload()["makespan_ns"].unstack()[policies].loc[[each.name for each in orders]] / 1e6


def total_section(times: pd.DataFrame) -> Section:
    """Fig. 8, all permutations: time saved relative to Strings."""
    times = times.assign(**{BOUND: bound_ms()})
    rows = {}
    for policy in times:
        speedup = times[STRINGS] / times[policy] - 1
        is_cumas = str(policy).startswith("cumas:") and "pieces" not in str(policy)
        rows[short_name(policy)] = {
            "total time, ms": times[policy].mean(),
            "less time, mean, paper": PAPER["reduction"]["mean"] if is_cumas else float("nan"),
            "less time, mean": (1 - times[policy] / times[STRINGS]).mean(),
            "mean speedup": speedup.mean(),
            "less time than the worst Strings, most, paper": PAPER["reduction"]["most"] if is_cumas else float("nan"),
            "less time than the worst Strings, most": 1 - times[policy].min() / times[STRINGS].max(),
            "speedup over the worst Strings, most": times[STRINGS].max() / times[policy].min() - 1,
            "best speedup": speedup.max(),
            "mean over streams": (times["fifo"] / times[policy]).mean() - 1,
            "best over streams": (times["fifo"] / times[policy]).max() - 1,
        }
    note = (
        f"{len(times)} permutations, all arriving at time 0. The paper prints two figures for all of its CuMAS: the "
        "total time is reduced by up to 14 % on average and by up to 44 % when compared to Strings with its worst "
        "permutation (section 6.1; its abstract calls the 44 % throughput). So both are given as time saved, 1 - time "
        "/ time under Strings, and as speedup, time under Strings / time - 1; 'best' is over Strings with the same "
        "permutation, 'most' the shortest time over Strings' longest. 'fifo' "
        "is the order of plain streams, every copy and every kernel as soon as it is ready, so that those of many "
        "applications alternate; the last two columns are over that. 'cumas-bf' is the paper's brute force, which "
        "does not see what the previous window has left; beyond 20 million nodes it stops searching."
    )
    return Section("Fig. 8: total time over all permutations", pd.DataFrame(rows).T, note)


def bound_ms() -> float:
    """A lower bound of any order: all kernels one after the other, after the shortest copies to the device."""
    applications = bundled_workload("cumas").applications
    kernels_ns = sum(
        latency_of(each) for every in applications for each in every.operations if isinstance(each, Launch)
    )
    copies_ns = []
    for application in applications:
        before = takewhile(lambda each: isinstance(each, Copy), application.operations)
        copies_ns.append(sum(each.bytes * NS_PER_BYTE + LATENCY_NS for each in before if isinstance(each, Copy)))
    return (kernels_ns + min(copies_ns)) / 1e6


def short_name(policy: object) -> str:
    """The name in tables: 'cumas, w = 8'."""
    if policy == BOUND:
        return BOUND
    ordering, _, sharing = str(policy).rpartition("+")
    name, *options = ordering.split(":")
    values = dict(option.split("=") for option in options)
    window = f", w = {values['window']}" if "window" in values else ""
    pieces = ", copies in pieces" if "pieces" in values else ""
    return (name or sharing) + window + pieces + (", two tasks in kernels" if "kernels" in values else "")


def set_section(times: pd.DataFrame) -> Section:
    """Fig. 8 by set."""
    table = times.groupby(times.index.str[0]).mean().T
    table.columns.name = None
    table.index = [short_name(policy) for policy in table.index]
    note = "Mean total time of each set, in milliseconds. The paper's own are curves without numbers."
    return Section("Fig. 8: total time by permutation set", table, note)


def length_section(progress: bool | None) -> Section:
    """The effect of the assumed kernel lengths."""
    cumas = policy_of("cumas", ":window=10")
    two = policy_of("cumas", ":window=10:kernels=2")
    rows = {}
    for alone_s in ALONE_S:
        times = total_times(permutations(PER_SET, alone_s), [STRINGS, cumas, two], progress)
        row = {"Strings, ms": times[STRINGS].mean()}
        for name, policy in {"cumas, w = 10": cumas, "two tasks in kernels": two}.items():
            speedup = times[STRINGS] / times[policy] - 1
            row |= {f"{name}, ms": times[policy].mean()}
            row |= {f"mean speedup, {name}": speedup.mean(), f"best, {name}": speedup.max()}
        rows[f"{alone_s:g} s"] = row
    note = (
        "Every application's kernels made so long that alone it takes this time. No order can save more than what the "
        "SMs wait for the first copy and for each other's data; the longer the kernels, the less that is of the whole."
    )
    return Section("Kernels as long as the paper's range allows", pd.DataFrame(rows).T, note)
