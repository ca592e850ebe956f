# SPDX-License-Identifier: Apache-2.0
"""Other kernels of the suite that Table I calls complementary, since on a large GPU none of the five may be."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from gpushare._core import Device, slate_coruns
from gpushare.compare import compare
from gpushare.device import device as find_device
from gpushare.model.workload import Workload
from gpushare.reproduce.reproduction import Section
from gpushare.reproduce.slate_loops import core_launches, looped_suite
from gpushare.reproduce.slate_words import MPS, SLATE, TIME_SLICING

if TYPE_CHECKING:
    import pandas as pd

    from gpushare.results.run import Run

CANDIDATES = {name: name for name in ("nbody", "triad", "spmv_csr", "philox_random", "stencil_2d", "mandelbrot")}


def complementary(words: dict[str, str], device: str, repeats: int) -> Section:
    """Throughput over the baselines, and how long a freed range of SMs stays empty."""
    import pandas as pd

    found = complementary_pairs(looped_suite(device, CANDIDATES), device)
    if not found:
        return Section(TITLE, pd.DataFrame(), "Table I calls none complementary, or they have no profiles here.")
    results = [compare(pair, words.values(), device=device, repeats=repeats) for pair in found]
    rows = {}
    for pair, result in zip(found, results, strict=True):
        makespans = result.metrics()["makespan_ns"]
        rows[pair.name] = {
            "over MPS": makespans[words[MPS]] / makespans[words[SLATE]],
            "over time-slicing": makespans[words[TIME_SLICING]] / makespans[words[SLATE]],
            **resize_us(result.run(words[SLATE], pair.name)),
        }
    return Section(TITLE, pd.DataFrame(rows).T, NOTE)


def complementary_pairs(candidates: Workload, device: str) -> list[Workload]:
    """Those that Table I lets run together if one of them, or either, was there first."""
    where: Device = find_device(device)
    known = core_launches(candidates, device)
    profiled = [each for each in candidates.applications if known[each.name].kernel.is_profiled]

    def goes(first: str, second: str) -> bool:
        return slate_coruns(where, known[first], known[second]) or slate_coruns(where, known[second], known[first])

    return [
        Workload(f"{first.name} + {second.name}", (first, second))
        for first, second in combinations(profiled, 2)
        if goes(first.name, second.name)
    ]


def resize_us(run: Run) -> dict[str, float]:
    """From the end of the first application until the other has started blocks on half and on all of its last SMs."""
    ended = run.applications().sort_values("end_ns").iloc[0]
    blocks: pd.DataFrame = run.blocks()
    is_own = blocks["application"] == ended["application"]
    last = blocks[is_own & (blocks["launch"] == blocks[is_own]["launch"].max())]
    others = blocks[~is_own]
    shared = others[others["end_ns"].between(last["start_ns"].min(), ended["end_ns"])]["sm"]
    freed = set(last["sm"]) - set(shared)
    later = others[(others["start_ns"] >= ended["end_ns"]) & others["sm"].isin(freed)]
    waits_us = (later.groupby("sm")["start_ns"].min() - ended["end_ns"]) / 1e3
    if not freed or len(waits_us) < len(freed):
        return {"half resized after us": float("nan"), "all": float("nan")}
    return {"half resized after us": waits_us.median(), "all": waits_us.max()}


TITLE = "Other kernels that go together"

NOTE = (
    "Pairs of the suite's kernels that Table I calls complementary, if only in one order. 'Resized': from the end of "
    "one application until blocks of the other have started on half and on all of the SMs that only its last launch "
    "had; blank where there are none, or the other had no blocks left for all of them."
)
