# SPDX-License-Identifier: Apache-2.0
"""Slate's pairs with launches of several milliseconds, for which the time of a resize is negligible."""

from __future__ import annotations

from gpushare.compare import compare
from gpushare.reproduce.reproduction import Section
from gpushare.reproduce.slate import pairs, throughputs
from gpushare.reproduce.slate_loops import looped_suite
from gpushare.reproduce.slate_words import LEFTOVER, MPS, SLATE, TIME_SLICING, WHOLE

LAUNCH_NS = 5e6
LOOP_NS = 30e6

NOTE = (
    "Launches of 5 ms in loops of 30 ms: grids have as many layers as that takes, but for GS, whose launches stay as "
    "they are, since each of them changes what it reads."
)


def long_launches(
    words: dict[str, str],
    device: str,
    repeats: int = 1,
    progress: bool | None = None,
    *,
    launch_ns: float = LAUNCH_NS,
    loop_ns: float = LOOP_NS,
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
    return Section("The 15 pairs with long launches", table, NOTE)
