# SPDX-License-Identifier: Apache-2.0
"""EffiSha's Figs. 13 and 14: overhead of kernel slicing at the launch delay of preemption, and at others."""

from __future__ import annotations

from dataclasses import dataclass

from gpushare.device import device as find_device
from gpushare.extras import pandas as pd
from gpushare.model.workload import Application, Workload
from gpushare.reproduce.effisha.preemption import (
    LONG_PROBE_MS,
    SHORT_PROBE_MS,
    eviction_ms,
    idle_delay_ns,
    interrupted,
    launch_delay_ns,
)
from gpushare.reproduce.effisha.workload import BENCHMARKS, PAPER, Platform
from gpushare.reproduce.reproduction import Section
from gpushare.run import run

TARGETS_MS = (1.0, 0.5, 0.25, 0.125, 0.0625)
"""Fig. 14's delay requirements."""
FINEST = 8
"""The smallest slice: an eighth of the blocks that fill the GPU."""
COARSEST = 1024
NEARLY = 1.1


@dataclass(frozen=True)
class Slice:
    """One size of slices for one benchmark.

    Attributes:
        blocks: blocks in a slice (K).
        delay_ns: mean time until an urgent launch's first block, less that on an idle GPU.
        overhead: overhead of the benchmark alone.
    """

    blocks: int
    delay_ns: float
    overhead: float


def slicing_sections(platform: Platform) -> list[Section]:
    """Both figures."""
    slices = {benchmark: slices_of(platform, benchmark) for benchmark in BENCHMARKS}
    return [at_effishas_delay(platform, slices), at_targets(slices, is_paper=platform.is_paper)]


def slices_of(platform: Platform, benchmark: str) -> list[Slice]:
    """Slices from an eighth of a wave up, doubling, until one slice holds the launch."""
    launch = platform.operations(benchmark)[0]
    wave = next(iter(run(_alone(platform, benchmark), "fifo", device=platform.device).max_residency.values()))
    wave *= sms_of(platform)
    idle_ns = idle_delay_ns(platform)
    found = []
    blocks = max(1, wave // FINEST)
    while blocks < launch.blocks and blocks <= COARSEST * wave:
        policy = f"pkm:blocks={blocks}"
        delay = launch_delay_ns(interrupted(platform, benchmark, policy, SHORT_PROBE_MS)) - idle_ns
        alone = run(_alone(platform, benchmark), policy, device=platform.device, seed=platform.seed, record=False)
        found.append(Slice(blocks, delay, alone.ntt()[0] - 1))
        blocks *= 2
    return found


def sms_of(platform: Platform) -> int:
    """SMs of the device."""
    return find_device(platform.device).sms


def _alone(platform: Platform, benchmark: str) -> Workload:
    return Workload(benchmark, (Application(benchmark, platform.operations(benchmark)),))


def tuned(slices: list[Slice], most_delay_ns: float) -> Slice:
    """The cheapest slice within the delay, else the cheapest with nearly the shortest one."""
    shortest_ns = min(each.delay_ns for each in slices)
    good = [each for each in slices if each.delay_ns <= max(most_delay_ns, NEARLY * shortest_ns)]
    return min(good, key=lambda each: (each.overhead, each.blocks))


def at_effishas_delay(platform: Platform, slices: dict[str, list[Slice]]) -> Section:
    """Fig. 13's last bars."""
    rows = {}
    for benchmark, each in slices.items():
        delay = float(eviction_ms(interrupted(platform, benchmark, "effisha-static", LONG_PROBE_MS)).mean()) * 1e6
        found = tuned(each, delay)
        alone = run(_alone(platform, benchmark), "effisha-static", device=platform.device, seed=platform.seed)
        rows[benchmark] = {
            "effisha delay us": delay / 1e3,
            "pkm delay us": found.delay_ns / 1e3,
            "pkm blocks": float(found.blocks),
            "pkm overhead": found.overhead,
            "effisha overhead": alone.ntt()[0] - 1,
        }
    table = pd.DataFrame(rows).T
    table.loc["mean"] = table.drop(columns="pkm blocks").mean()
    if platform.is_paper:
        table["pkm overhead paper"] = float("nan")
        table.loc["mean", "pkm overhead paper"] = PAPER["overhead"]["pkm_at_same_delay"]["mean"]
    note = (
        "The cheapest slices with which an urgent launch waits no longer than an eviction takes (Fig. 10). Overheads "
        "are of the time alone; 0.5 is 50%. The paper: EffiSha 4% on average and 8% at most, PKM 58% and 140%. "
    )
    if not platform.is_real:
        note += "What the transformation costs is not simulated, so EffiSha's is 0 here."
    return Section("Fig. 13: slicing at EffiSha's launch delay", table, note)


def at_targets(slices: dict[str, list[Slice]], *, is_paper: bool) -> Section:
    """Fig. 14."""
    rows = {}
    for target in TARGETS_MS:
        found = [tuned(each, target * 1e6) for each in slices.values()]
        overheads = [each.overhead for each in found]
        row = {
            "mean overhead": sum(overheads) / len(overheads),
            "max overhead": max(overheads),
            "kernels that keep it": float(sum(each.delay_ns <= target * 1e6 for each in found)),
        }
        if is_paper:
            printed = PAPER["overhead"]["pkm_at_62_us"] if target == TARGETS_MS[-1] else {}
            row |= {f"{what} paper": printed.get(what, float("nan")) for what in ("mean", "most")}
        rows[f"{target * 1e3:g} us"] = row
    note = (
        "The cheapest slices that keep a mean launch delay, or are within a tenth of the shortest one where none does. "
        "The paper prints the last row only; its bars fall towards 1 ms."
    )
    return Section("Fig. 14: what slicing costs", pd.DataFrame(rows).T, note)
