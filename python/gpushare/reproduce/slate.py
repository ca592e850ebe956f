# SPDX-License-Identifier: Apache-2.0
"""Slate's evaluation, on a simulated Titan Xp or with the suite's kernels on another GPU: start at :func:`reproduce`.

Nothing is fitted to the paper's results. What it leaves open is assumed as :mod:`slate_sensitivity` lists, with what
each assumption is worth.
"""

from __future__ import annotations

import tomllib
from itertools import combinations_with_replacement
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpushare import _core
from gpushare._core import Device, demand_alone, slate_coruns
from gpushare.compare import compare
from gpushare.cuda_device import cuda_device, is_cuda
from gpushare.device import device as find_device
from gpushare.reproduce.reproduction import Reproduction, Section
from gpushare.reproduce.slate_loops import looped_suite
from gpushare.result import Result
from gpushare.workload import Application, Launch, Workload, bundled_workload

if TYPE_CHECKING:
    import pandas as pd

INTRODUCTION = Path(__file__).with_name("slate_introduction.md").read_text(encoding="utf-8")
PAPER: dict[str, Any] = tomllib.loads(Path(__file__).with_name("slate_paper.toml").read_text(encoding="utf-8"))
TITAN_XP = "titan-xp"
TIME_SLICING, MPS, SLATE, LEFTOVER = "time-slicing", "MPS", "slate", "leftover"
POLICIES = {TIME_SLICING: "round-robin", MPS: "fifo", SLATE: "slate", LEFTOVER: "slate:rest=leftover"}
"""The paper's word -> the policy that stands for it where a GPU is simulated."""

POLICIES_ON_A_GPU = POLICIES | {TIME_SLICING: "hardware-serial", MPS: "hardware-streams"}
"""On a GPU the baselines are the hardware's own: streams of one process are shared as MPS shares those of several."""


def reproduce(
    *, seeds: int = 1, quick: bool = False, progress: bool | None = None, device: str | None = None
) -> Reproduction:
    """Table II, Fig. 7 and what the text says of it; on the Titan Xp also Table IV and the sensitivity.

    Args:
        seeds: repeats on a GPU; nothing varies on a simulated one.
        quick: leave out the sensitivity.
        progress: as in :func:`gpushare.compare`.
        device: the simulated Titan Xp unless named, with models of the paper's kernels; elsewhere the suite's kernels.
    """
    name = device or TITAN_XP
    on_titan_xp = find_device(name).name == TITAN_XP
    words = POLICIES_ON_A_GPU if is_cuda(name) else POLICIES
    benchmarks = bundled_workload("slate") if on_titan_xp else looped_suite(name)
    result = compare(
        pairs(benchmarks), words.values(), device=name, repeats=seeds if is_cuda(name) else 1, progress=progress
    )
    throughput = throughputs(result, words)
    sections = [table_2(benchmarks, name, on_titan_xp), figure_7(benchmarks, name, throughput), means(throughput)]
    if on_titan_xp:
        from gpushare.reproduce.slate_sensitivity import sensitivity_section
        from gpushare.reproduce.slate_table_4 import table_4

        sections.append(table_4(benchmarks, find_device(name)))
        if not quick:
            sections.append(sensitivity_section(benchmarks, name, progress))
    where = "a simulated Titan Xp" if on_titan_xp else name
    return Reproduction(f"Slate: workload-aware sharing (Allen et al.), on {where}", tuple(sections), INTRODUCTION)


def pairs(benchmarks: Workload) -> list[Workload]:
    """All pairs, each with itself too, arriving together."""
    return [
        Workload(f"{first.name}-{second.name}", (first, second if second is not first else _another(second)))
        for first, second in combinations_with_replacement(benchmarks.applications, 2)
    ]


def _another(application: Application) -> Application:
    return Application(f"{application.name} again", application.operations)


def throughputs(result: Result, words: dict[str, str]) -> pd.DataFrame:
    """Pairs per second: a row per pair, a column per way of sharing."""
    makespans = result.per_workload()["makespan_ns"].unstack()
    ran = {word: policy for word, policy in words.items() if policy in makespans}
    return 1e9 / makespans.loc[result.workloads, list(ran.values())].set_axis(list(ran), axis=1)


def launches(benchmarks: Workload, device: str) -> dict[str, _core.Launch]:
    """By application, its launch as policies see it."""
    found: dict[str, _core.Launch] = {}
    for application in benchmarks.applications:
        launch = application.operations[0]
        assert isinstance(launch, Launch)
        where = find_device(device)
        found[application.name] = (
            _core.Launch(cuda_device(device).model(launch), launch.blocks) if is_cuda(device) else launch.on(where)
        )
    return found


def table_2(benchmarks: Workload, device: str, on_titan_xp: bool) -> Section:
    """The intensities of each benchmark alone."""
    import pandas as pd

    where = find_device(device)
    rows = {}
    for name, launch in launches(benchmarks, device).items():
        paper, ours = PAPER["table_2"][name], class_words(where, launch)
        row: dict[str, Any] = {"compute paper": paper["compute"], "compute": ours["compute"]}
        row |= {"memory paper": paper["memory"], "memory": ours["memory"]}
        if launch.kernel.is_profiled:
            demand = demand_alone(where, launch)
            row |= {"issue slots busy": demand.issue}
            row |= {"GFLOP/s paper": paper["gflop_per_s"], "GFLOP/s": (demand.flops or 0.0) * where.flops_per_s / 1e9}
            row |= {"GB/s paper": paper["gb_per_s"], "GB/s": demand.memory * where.off_sm.dram_bytes_per_s / 1e9}
        rows[name] = row
    table = pd.DataFrame.from_dict(rows, orient="index")
    if on_titan_xp:
        return Section("Table II: intensities", table.drop(columns="issue slots busy"), NOTES["table 2"])
    return Section(
        "Table II: intensities", table.drop(columns=["GFLOP/s paper", "GFLOP/s"]), NOTES["table 2 elsewhere"]
    )


def class_words(device: Device, launch: _core.Launch) -> dict[str, str]:
    """The two intensities of a launch, in words."""
    if not launch.kernel.is_profiled:
        return {"compute": "not profiled", "memory": "not profiled"}
    demand = demand_alone(device, launch)
    return {"compute": demand.compute_intensity, "memory": demand.memory_intensity}


def figure_7(benchmarks: Workload, device: str, throughput: pd.DataFrame) -> Section:
    """Fig. 7: throughput of Slate over the two baselines, for each pair."""
    import pandas as pd

    known, where = launches(benchmarks, device), find_device(device)
    rows = {}
    for pair, row in throughput.iterrows():
        first, second = (known[name] for name in str(pair).split("-"))
        is_profiled = first.kernel.is_profiled and second.kernel.is_profiled
        rows[pair] = {
            "Table I": "corun" if is_profiled and slate_coruns(where, first, second) else "solo",
            "over MPS, paper": PAPER["fig_7_over_mps"].get(pair, float("nan")),
            "over MPS": row[SLATE] / row[MPS],
            "over time-slicing": row[SLATE] / row[TIME_SLICING],
            "MPS over time-slicing": row[MPS] / row[TIME_SLICING],
            "with leftover, over MPS": row[LEFTOVER] / row[MPS],
        }
    return Section("Fig. 7: throughput of Slate on the 15 pairs", pd.DataFrame(rows).T, NOTES["figure 7"])


def means(throughput: pd.DataFrame) -> Section:
    """Section V.E: the means over the pairs."""
    import pandas as pd

    ratios = {
        "slate over MPS": (throughput[SLATE] / throughput[MPS], PAPER["means"]["slate_over_mps"]),
        "slate over time-slicing": (
            throughput[SLATE] / throughput[TIME_SLICING],
            PAPER["means"]["slate_over_time_slicing"],
        ),
        "slate with leftover over MPS": (throughput[LEFTOVER] / throughput[MPS], float("nan")),
        "MPS over time-slicing": (throughput[MPS] / throughput[TIME_SLICING], PAPER["means"]["mps_over_time_slicing"]),
    }
    rows = {
        words: {"paper": paper, "mean": ratio.mean(), "smallest": ratio.min(), "largest": ratio.max()}
        for words, (ratio, paper) in ratios.items()
    }
    return Section("Section V.E: means over the pairs", pd.DataFrame(rows).T, NOTES["means"])


NOTES = {
    "table 2": (
        "GFLOP/s and GB/s alone, on all SMs: the input of the models, recovered by the contention model; classes "
        "follow from them. The paper's Table III has 287 GB/s for GS instead of 340.9."
    ),
    "table 2 elsewhere": (
        "The suite's kernels, which are not the paper's programs, by their profiles. Nobody "
        "has counted their operations, so that the issue slots decide of compute."
    ),
    "figure 7": (
        "1 / time until both are done. The paper's bars have no numbers: given is what its text says. MPS here is "
        "order of arrival with leftover, time-slicing the whole GPU in turns (on a GPU: streams, and one application "
        "after the other). 'With leftover': what Slate's launches leave goes to the queue (rest=leftover), where the "
        "paper lets it wait."
    ),
    "means": (
        "Arithmetic means over the 15 pairs. In the paper most pairs run one after the other under Slate too, and gain "
        "8% on average from blocks in order of their index, which improves hits in L1: the simulator has no L1."
    ),
}
