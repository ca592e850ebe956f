# SPDX-License-Identifier: Apache-2.0
"""Slate's pairs on other devices than the paper's, with the suite's kernels, and what the paper does not run.

python benchmarks/experiments/slate_elsewhere.py --device cuda:0
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from itertools import combinations
from typing import TYPE_CHECKING

import pandas as pd

from gpushare import _core
from gpushare._core import Device, slate_coruns
from gpushare.backends.choice import backend_named
from gpushare.compare import compare
from gpushare.device import device as find_device
from gpushare.model.operation import Launch
from gpushare.model.workload import Application, Workload
from gpushare.reproduce.reproduction import Reproduction, Section
from gpushare.reproduce.slate import class_words, figure_7, means
from gpushare.reproduce.slate.runs import (
    LEFTOVER,
    MPS,
    POLICIES,
    SLATE,
    TIME_SLICING,
    WHOLE,
    pairs,
    throughputs,
)
from gpushare.run import run
from gpushare.suite import KERNELS

if TYPE_CHECKING:
    from gpushare.results.run import Run

POLICIES_ON_A_GPU = POLICIES | {
    TIME_SLICING: "hardware-serial",
    MPS: "hardware-streams",
    WHOLE: "slate:queue_gets_leftover=yes:whole_up_to_ns=8e6",
}
"""On a GPU the baselines are the hardware's own: streams of one process share it as MPS lets several processes do.
Launches left whole are originals, and are not resized."""
SUITE = {
    "BS": "black_scholes",
    "GS": "gaussian_fan2",
    "MM": "matrix_product",
    "RG": "quasirandom",
    "TR": "transpose",
}
"""The paper's abbreviation -> the suite's kernel."""

LOOP_NS = 8e6
LAUNCH_NS = 5e6
LONG_LOOP_NS = 30e6

LONG_NOTE = (
    "Launches of 5 ms in loops of 30 ms: grids have as many layers as that takes, but for GS, whose launches stay as "
    "they are, since each of them changes what it reads."
)
CANDIDATES = {name: name for name in ("nbody", "triad", "spmv_csr", "philox_random", "stencil_2d", "mandelbrot")}


def looped_suite(
    device: str, kernels: Mapping[str, str] = SUITE, loop_ns: float = LOOP_NS, launch_ns: float = 0.0
) -> Workload:
    """Each kernel's launch as often as takes ``loop_ns`` alone; the paper's loops take 30 s.

    Where the kernel may have layers a launch takes about ``launch_ns``, if that is more than it does by itself.
    """
    return Workload("slate", tuple(_loop(name, kernel, device, loop_ns, launch_ns) for name, kernel in kernels.items()))


def _loop(name: str, kernel: str, device: str, loop_ns: float, launch_ns: float) -> Application:
    once = Workload(name, (Application(name, (Launch.of_suite(kernel),)),))
    alone_ns = run(once, "fifo", device=device, record=False).alone_ns[name]
    layers = max(1, round(launch_ns / alone_ns)) if KERNELS[kernel].is_layerable else 1
    launches = max(1, round(loop_ns / (layers * alone_ns)))
    return Application(name, launches * (Launch.of_suite(kernel, layers=layers),))


def core_launches(benchmarks: Workload, device: str) -> dict[str, _core.Launch]:
    """By application, its launch as policies see it."""
    backend = backend_named(device)
    found: dict[str, _core.Launch] = {}
    for application in benchmarks.applications:
        launch = application.operations[0]
        assert isinstance(launch, Launch)
        gpu = backend.gpu
        on_gpu = gpu is not None and _core.Launch(gpu.model(launch), launch.blocks)
        found[application.name] = on_gpu or launch.on(backend.description)
    return found


def evaluated(device: str, *, repeats: int, quick: bool, progress: bool | None = None) -> Reproduction:
    """Classes, all pairs, all five at once, other pairs of the suite, and on a GPU launches of 5 ms."""
    is_gpu = backend_named(device).gpu is not None
    words = POLICIES_ON_A_GPU if is_gpu else POLICIES
    benchmarks = looped_suite(device)
    known, where = core_launches(benchmarks, device), find_device(device)
    found = throughputs(
        compare(pairs(benchmarks), words.values(), device=device, repeats=repeats, progress=progress), words
    )
    classes = pd.DataFrame.from_dict({name: class_words(where, each) for name, each in known.items()}, orient="index")
    sections = [
        Section("Classes by the kernels' profiles", classes, "The issue slots decide of compute."),
        figure_7(known, where, found),
        means(found),
        all_at_once(benchmarks, words, device, repeats),
    ]
    if not quick:
        sections.append(complementary(words, device, repeats))
        sections += [long_launches(words, device, repeats, progress)] if is_gpu else []
    return Reproduction(f"Slate's pairs on {device}", tuple(sections))


def all_at_once(benchmarks: Workload, words: dict[str, str], device: str, repeats: int) -> Section:
    """Throughput over MPS and the metrics, of Slate, the baselines and an even split of the SMs."""
    policies = {**words, "an even split": "even"}
    result = compare(benchmarks, policies.values(), device=device, repeats=repeats)
    table = result.metrics()[["makespan_ns", "stp", "antt"]].rename({policy: word for word, policy in policies.items()})
    table.insert(0, "throughput over MPS", table.loc[MPS, "makespan_ns"] / table["makespan_ns"])
    return Section("All five at once", table.drop(columns="makespan_ns"), ALL_NOTE)


ALL_NOTE = (
    "Not in the paper. Slate searches the queue for a launch that complements the running one, and keeps two side by "
    "side; an even split runs all of them together."
)


def long_launches(
    words: dict[str, str],
    device: str,
    repeats: int = 1,
    progress: bool | None = None,
    *,
    launch_ns: float = LAUNCH_NS,
    loop_ns: float = LONG_LOOP_NS,
) -> Section:
    """Throughput over the two baselines, for each pair and in the mean."""
    import pandas as pd

    benchmarks = looped_suite(device, loop_ns=loop_ns, launch_ns=launch_ns)
    result = compare(pairs(benchmarks), words.values(), device=device, repeats=repeats, progress=progress)
    found = throughputs(result, words)
    table = pd.DataFrame(
        {
            "over MPS": found[SLATE] / found[MPS],
            "over time-slicing": found[SLATE] / found[TIME_SLICING],
            "with leftover, over MPS": found[LEFTOVER] / found[MPS],
        }
    )
    if WHOLE in found:
        table["left whole, over MPS"] = found[WHOLE] / found[MPS]
    table.loc["mean"] = table.mean()
    return Section("The 15 pairs with long launches", table, LONG_NOTE)


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
    return Section(TITLE, pd.DataFrame(rows).T, COMPLEMENTARY_NOTE)


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

COMPLEMENTARY_NOTE = (
    "Pairs of the suite's kernels that Table I calls complementary, if only in one order. 'Resized': from the end of "
    "one application until blocks of the other have started on half and on all of the SMs that only its last launch "
    "had; blank where there are none, or the other had no blocks left for all of them."
)


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="sim:h100")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="the pairs, and all five at once")
    options = parser.parse_args()
    print(evaluated(options.device, repeats=options.repeats, quick=options.quick).text())


if __name__ == "__main__":
    main()
