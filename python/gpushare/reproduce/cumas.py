# SPDX-License-Identifier: Apache-2.0
"""CuMAS's evaluation on a simulated K40c: start reading at :func:`reproduce`.

Copies are those of Table 1. Kernel times are not printed: what they are assumed to be stands in
``workloads/cumas.toml``, and what that is worth in a section of its own.
"""

from __future__ import annotations

import random
import tomllib
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpushare.compare import compare
from gpushare.model.kernel_model import KernelModel
from gpushare.model.operation import Copy, Launch
from gpushare.model.workload import Application, Workload, bundled_workload
from gpushare.reproduce.reproduction import Reproduction, Section

if TYPE_CHECKING:
    import pandas as pd

PAPER: dict[str, Any] = tomllib.loads(Path(__file__).with_name("cumas_paper.toml").read_text(encoding="utf-8"))

SETS = "ABCDE"
PER_SET = 5
"""Section 6.1: 25 permutations of the applications in five sets."""

WINDOWS = (2, 4, 6, 8, 10)
SOLVERS = {"cumas-dp": "", "cumas": "", "cumas-bf": ":carry=no:nodes=20000000"}
"""Ordering -> its options. The paper's brute force does not see what the previous window has left."""

TWO_IN_KERNELS = (("strings", ""), ("cumas", ":window=10"), ("cumas", ":window=12"))
"""Beyond the paper: a task with short kernels need not wait for one long kernel of the task before it."""

BOUND = "no order can beat"
NS_PER_BYTE, LATENCY_NS = 0.2, 7200
"""Of copies on the K40c (Fig. 11)."""

ALONE_S = (0.5, 0.6, 0.75, 1.0, 2.0)
"""How long applications alone may take, from "between 500 msecs and 2 seconds"."""


def reproduce(
    *, seeds: int = 1, quick: bool = False, progress: bool | None = None, device: str | None = None
) -> Reproduction:
    """Figs. 8 to 12, over 25 permutations that are drawn once. Nothing varies from seed to seed: ``seeds`` is 1.

    Elsewhere than on the K40c the suite's kernels stand in for the paper's, with copies of Table 1, scaled.
    """
    if device is not None and device not in ("k40c", "sim:k40c"):
        from gpushare.reproduce.cumas_elsewhere import reproduce_on

        return reproduce_on(device, quick=quick, progress=progress)
    from gpushare.reproduce.cumas_arrivals import arrivals_section, mixed_section
    from gpushare.reproduce.cumas_engines import idle_section, overhead_section
    from gpushare.reproduce.cumas_estimates import kernel_section, transfer_section
    from gpushare.reproduce.cumas_pieces import simulated_pieces_section

    orders = permutations(1 if quick else PER_SET)
    times = total_times(orders, contenders((4, 8) if quick else WINDOWS), progress)
    sections = [
        total_section(times),
        set_section(times),
        idle_section(orders[:: 1 if quick else PER_SET], (8,) if quick else WINDOWS),
        overhead_section((4, 8) if quick else (2, 4, 6, 8, 10, 12)),
        transfer_section(),
        kernel_section(),
        simulated_pieces_section(progress),
    ]
    if not quick:
        sections += [length_section(progress), arrivals_section(PER_SET, progress), mixed_section(PER_SET, progress)]
    return Reproduction("CuMAS: transfer-aware ordering (Belviranli et al. 2016)", tuple(sections))


def varies(_device: str | None) -> bool:
    """Permutations are drawn once, and each runs once."""
    return False


def permutations(per_set: int, alone_s: float | None = None) -> list[Workload]:
    """The applications in random orders, named A1, A2, ... B1, ...

    Args:
        per_set: how many in each of the five sets.
        alone_s: how long each application takes alone, in seconds; as in the workload file if left out.
    """
    workload = bundled_workload("cumas")
    applications = [_lasting(each, alone_s) for each in workload.applications]
    shuffler = random.Random(2016)
    found = []
    for name in SETS:
        for number in range(1, per_set + 1):
            order = tuple(shuffler.sample(applications, len(applications)))
            found.append(replace(workload, name=f"{name}{number}", applications=order))
    return found


def _lasting(application: Application, alone_s: float | None) -> Application:
    """The application with its kernels longer or shorter, so that alone it takes so long; it takes 0.5 s."""
    if alone_s is None:
        return application
    kernels = [each for each in application.operations if isinstance(each, Launch)]
    factor = 1 + (alone_s - 0.5) * 1e9 / sum(latency_of(each) for each in kernels)
    longer = {
        each: replace(each, kernel=replace(each.kernel, latency_ns=latency_of(each) * factor)) for each in set(kernels)
    }
    operations = tuple(longer[each] if isinstance(each, Launch) else each for each in application.operations)
    return replace(application, operations=operations)


def latency_of(launch: Launch) -> float:
    """How long a launch of the workload takes: one block per SM, which has it to itself."""
    kernel = launch.kernel
    assert isinstance(kernel, KernelModel)
    assert kernel.latency_ns is not None
    return kernel.latency_ns


def policy_of(ordering: str, options: str = "", sharing: str = "fifo") -> str:
    """Table 1 counts as one task what follows one another to the host."""
    return f"{ordering}:to_host=together{options}+{sharing}"


STRINGS = policy_of("strings")


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
    """Fig. 8, all permutations: how much faster than Strings."""
    import pandas as pd

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
        "is what streams do by themselves, every copy and every kernel as soon as it is ready, so that those of many "
        "applications alternate; the last two columns are over that. 'cumas-bf' is the paper's brute force, which "
        "does not see what the previous window has left; beyond 20 million nodes it stops searching."
    )
    return Section("Fig. 8: total time over all permutations", pd.DataFrame(rows).T, note)


def bound_ms() -> float:
    """No order takes less: all kernels one after the other, behind the shortest copies to the device."""
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
    """As tables say it: 'cumas, w = 8'."""
    if policy == BOUND:
        return BOUND
    ordering, _, sharing = str(policy).rpartition("+")
    name, *options = ordering.split(":")
    values = dict(option.split("=") for option in options)
    window = f", w = {values['window']}" if "window" in values else ""
    pieces = ", copies in pieces" if "pieces" in values else ""
    return (name or sharing) + window + pieces + (", two tasks in kernels" if "kernels" in values else "")


def set_section(times: pd.DataFrame) -> Section:
    """Fig. 8 set by set."""
    table = times.groupby(times.index.str[0]).mean().T
    table.columns.name = None
    table.index = [short_name(policy) for policy in table.index]
    note = "Mean total time of each set, in milliseconds. The paper's own are curves without numbers."
    return Section("Fig. 8: total time by permutation set", table, note)


def length_section(progress: bool | None) -> Section:
    """What the assumed length of the kernels is worth."""
    import pandas as pd

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
