# SPDX-License-Identifier: Apache-2.0
"""Slate's evaluation, on a simulated Titan Xp or with the suite's kernels on another GPU: start at :func:`reproduce`.

The models of the kernels are fitted to what Tables II and III print of each alone. RG's instructions are fitted to a
result: the 0.94 that Table IV prints of BS and RG under MPS. What the paper leaves open is assumed as
:mod:`slate_sensitivity` lists, with what each assumption is worth.
"""

from __future__ import annotations

import tomllib
from itertools import combinations_with_replacement
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpushare import _core
from gpushare._core import Device, PolicyError, demand_alone, slate_coruns
from gpushare.backends.cuda.device import is_cuda
from gpushare.compare import compare
from gpushare.device import device as find_device
from gpushare.model.workload import Application, Workload, bundled_workload
from gpushare.reproduce.reproduction import Reproduction, Section
from gpushare.reproduce.slate_all_at_once import all_at_once
from gpushare.reproduce.slate_complementary import complementary
from gpushare.reproduce.slate_loops import core_launches, looped_suite
from gpushare.reproduce.slate_words import LEFTOVER, MPS, POLICIES, POLICIES_ON_A_GPU, SLATE, TIME_SLICING, WHOLE
from gpushare.results.result import Result

if TYPE_CHECKING:
    import pandas as pd

PAPER: dict[str, Any] = tomllib.loads(Path(__file__).with_name("slate_paper.toml").read_text(encoding="utf-8"))
TITAN_XP = "titan-xp"


def reproduce(
    *, seeds: int = 6, quick: bool = False, progress: bool | None = None, device: str | None = None
) -> Reproduction:
    """Table II, Fig. 7, what the text says of it, and all five at once; on the Titan Xp also Table IV.

    Args:
        seeds: how many seeds the suite's kernels are run with, on a GPU repeats. The paper's kernels do not vary.
        quick: leave out the sensitivity, elsewhere other pairs of the suite, and on a GPU launches of 5 ms.
        progress: as in :func:`gpushare.compare`.
        device: the simulated Titan Xp unless named, with models of the paper's kernels; elsewhere the suite's kernels.
    """
    name = device or TITAN_XP
    on_titan_xp = find_device(name).name == TITAN_XP
    words = POLICIES_ON_A_GPU if is_cuda(name) else POLICIES
    benchmarks = bundled_workload("slate") if on_titan_xp else looped_suite(name)
    repeats = seeds if varies(name) else 1
    result = compare(pairs(benchmarks), words.values(), device=name, repeats=repeats, progress=progress)
    throughput = throughputs(result, words)
    sections = [
        table_2(benchmarks, name, on_titan_xp),
        figure_7(benchmarks, name, throughput),
        means(throughput),
        all_at_once(benchmarks, words, name, repeats),
    ]
    if on_titan_xp:
        from gpushare.reproduce.slate_sensitivity import sensitivity_section
        from gpushare.reproduce.slate_table_4 import table_4

        sections.append(table_4(benchmarks, find_device(name)))
        if not quick:
            sections.append(sensitivity_section(benchmarks, name, progress))
    elif not quick:
        sections.append(complementary(words, name, repeats))
    if is_cuda(name) and not quick:
        from gpushare.reproduce.slate_long_launches import long_launches

        sections.append(long_launches(words, name, repeats, progress))
    where = "a simulated Titan Xp" if on_titan_xp else name
    return Reproduction(f"Slate: workload-aware sharing (Allen et al.), on {where}", tuple(sections))


def varies(device: str | None) -> bool:
    """The models of the paper's kernels on the Titan Xp have blocks of equal length."""
    return find_device(device or TITAN_XP).name != TITAN_XP


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
    if result.errors:
        raise PolicyError(f"a policy failed, so that there is nothing to compare: {result.errors}")
    makespans = result.per_workload()["makespan_ns"].unstack()
    return 1e9 / makespans.loc[result.workloads, list(words.values())].set_axis(list(words), axis=1)


def table_2(benchmarks: Workload, device: str, on_titan_xp: bool) -> Section:
    """The intensities of each benchmark alone."""
    import pandas as pd

    where = find_device(device)
    rows = {}
    for name, launch in core_launches(benchmarks, device).items():
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

    known, where = core_launches(benchmarks, device), find_device(device)
    rows = {}
    for pair, row in throughput.iterrows():
        rows[pair] = {
            "Table I": decision(where, known, *str(pair).split("-")),
            "over MPS, paper": PAPER["fig_7_over_mps"].get(pair, float("nan")),
            "over MPS": row[SLATE] / row[MPS],
            "over time-slicing": row[SLATE] / row[TIME_SLICING],
            "MPS over time-slicing": row[MPS] / row[TIME_SLICING],
            "with leftover, over MPS": row[LEFTOVER] / row[MPS],
        }
        if WHOLE in row:
            rows[pair]["left whole, over MPS"] = row[WHOLE] / row[MPS]
    return Section("Fig. 7: throughput of Slate on the 15 pairs", pd.DataFrame(rows).T, NOTES["figure 7"])


def decision(device: Device, known: dict[str, _core.Launch], first: str, second: str) -> str:
    """What Table I says, which may depend on who runs and who wants to join."""

    def joins(running: str, candidate: str) -> bool:
        is_profiled = known[running].kernel.is_profiled and known[candidate].kernel.is_profiled
        return is_profiled and slate_coruns(device, known[running], known[candidate])

    if joins(first, second) == joins(second, first):
        return "corun" if joins(first, second) else "solo"
    return f"{second} joins {first}" if joins(first, second) else f"{first} joins {second}"


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
    if WHOLE in throughput:
        ratios["slate with leftover and whole launches over MPS"] = (throughput[WHOLE] / throughput[MPS], float("nan"))
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
        "paper lets it wait. 'Left whole', on a GPU: with leftover, and launches of up to 8 ms as they were written."
    ),
    "means": (
        "Arithmetic means over the 15 pairs. In the paper most pairs run one after the other under Slate too, and gain "
        "8% on average from blocks in order of their index, which improves hits in L1: the simulator has no L1."
    ),
}
