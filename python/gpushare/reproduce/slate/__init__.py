# SPDX-License-Identifier: Apache-2.0
"""Slate's evaluation on a simulated Titan Xp: start at :func:`reproduce`.

The models of the kernels are fitted to Tables II and III, which have each kernel alone. RG's instructions are fitted to
a result: the 0.94 in Table IV for BS and RG under MPS. :mod:`slate_sensitivity` lists the assumptions about details
that the paper does not state, with their effects.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpushare import _core
from gpushare._core import Device, demand_alone, slate_coruns
from gpushare.compare import compare
from gpushare.device import device as find_device
from gpushare.extras import pandas as pd
from gpushare.model.workload import bundled_workload
from gpushare.reproduce.reproduction import Reproduction, Section
from gpushare.reproduce.slate.runs import (
    LEFTOVER,
    MPS,
    PAPER,
    POLICIES,
    SLATE,
    TIME_SLICING,
    WHOLE,
    pairs,
    throughputs,
)
from gpushare.reproduce.slate.sensitivity import sensitivity_section
from gpushare.reproduce.slate.table_4 import table_4

TITAN_XP = "titan-xp"


def reproduce(*, seeds: int = 1, quick: bool = False, progress: bool | None = None) -> Reproduction:
    """Table II, Fig. 7, what the text says of it, and Table IV. Blocks are of equal length: ``seeds`` is 1.

    Args:
        seeds: 1.
        quick: leave out the sensitivity.
        progress: as in :func:`gpushare.compare`.
    """
    device = find_device(TITAN_XP)
    benchmarks = bundled_workload("slate")
    known = {each.name: next(launch for _, launch in each.launches()).on(device) for each in benchmarks.applications}
    result = compare(pairs(benchmarks), POLICIES.values(), device=device, progress=progress)
    throughput = throughputs(result, POLICIES)
    sections = [
        table_2(known, device),
        figure_7(known, device, throughput),
        means(throughput),
        table_4(benchmarks, device),
    ]
    if not quick:
        sections.append(sensitivity_section(benchmarks, TITAN_XP, progress))
    return Reproduction("Slate: workload-aware sharing (Allen et al.), on a simulated Titan Xp", tuple(sections))


def varies(_device: str | None) -> bool:
    """The models of the paper's kernels have blocks of equal length."""
    return False


def table_2(known: Mapping[str, _core.Launch], device: Device) -> Section:
    """The intensities of each benchmark alone; ``known`` are their launches as policies see them."""
    rows = {}
    for name, launch in known.items():
        paper, ours = PAPER["table_2"][name], class_words(device, launch)
        row: dict[str, Any] = {"compute paper": paper["compute"], "compute": ours["compute"]}
        row |= {"memory paper": paper["memory"], "memory": ours["memory"]}
        if launch.kernel.is_profiled:
            demand = demand_alone(device, launch)
            row |= {"issue slots busy": demand.issue}
            row |= {"GFLOP/s paper": paper["gflop_per_s"], "GFLOP/s": (demand.flops or 0.0) * device.flops_per_s / 1e9}
            row |= {"GB/s paper": paper["gb_per_s"], "GB/s": demand.memory * device.off_sm.dram_bytes_per_s / 1e9}
        rows[name] = row
    table = pd.DataFrame.from_dict(rows, orient="index")
    return Section("Table II: intensities", table.drop(columns="issue slots busy"), NOTES["table 2"])


def class_words(device: Device, launch: _core.Launch) -> dict[str, str]:
    """The two intensities of a launch as text."""
    if not launch.kernel.is_profiled:
        return {"compute": "not profiled", "memory": "not profiled"}
    demand = demand_alone(device, launch)
    return {"compute": demand.compute_intensity, "memory": demand.memory_intensity}


def figure_7(known: Mapping[str, _core.Launch], device: Device, throughput: pd.DataFrame) -> Section:
    """Fig. 7: throughput of Slate over the two baselines, for each pair."""
    rows = {}
    for pair, row in throughput.iterrows():
        rows[pair] = {
            "Table I": decision(device, known, *str(pair).split("-")),
            "over MPS, paper": PAPER["fig_7_over_mps"].get(pair, float("nan")),
            "over MPS": row[SLATE] / row[MPS],
            "over time-slicing": row[SLATE] / row[TIME_SLICING],
            "MPS over time-slicing": row[MPS] / row[TIME_SLICING],
            "with leftover, over MPS": row[LEFTOVER] / row[MPS],
        }
        if WHOLE in row:
            rows[pair]["left whole, over MPS"] = row[WHOLE] / row[MPS]
    return Section("Fig. 7: throughput of Slate on the 15 pairs", pd.DataFrame(rows).T, NOTES["figure 7"])


def decision(device: Device, known: Mapping[str, _core.Launch], first: str, second: str) -> str:
    """What Table I says, which may depend on who runs and who wants to join."""

    def joins(running: str, candidate: str) -> bool:
        is_profiled = known[running].kernel.is_profiled and known[candidate].kernel.is_profiled
        return is_profiled and slate_coruns(device, known[running], known[candidate])

    if joins(first, second) == joins(second, first):
        return "corun" if joins(first, second) else "solo"
    return f"{second} joins {first}" if joins(first, second) else f"{first} joins {second}"


def means(throughput: pd.DataFrame) -> Section:
    """Section V.E: the means over the pairs."""
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
    "figure 7": (
        "1 / time until both are done. The paper's bars have no numbers: given is what its text says. MPS here is "
        "order of arrival with leftover, time-slicing the whole GPU alternately (on a GPU: streams, and one "
        "application after the other). 'With leftover': what Slate's launches leave goes to the queue "
        "(queue_gets_leftover=yes), where the paper lets it wait. 'Left whole', on a GPU: with leftover, and launches "
        "of up to 8 ms as original kernels."
    ),
    "means": (
        "Arithmetic means over the 15 pairs. In the paper most pairs run one after the other under Slate too, and gain "
        "8% on average from blocks in order of their index, which improves hits in L1: the simulator has no L1."
    ),
}
