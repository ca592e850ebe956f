# SPDX-License-Identifier: Apache-2.0
"""What is run for Slate's figures: the pairs, and the policies by the paper's words for ways of sharing."""

from __future__ import annotations

import tomllib
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

from gpushare._core import PolicyError
from gpushare.extras import pandas as pd
from gpushare.model.workload import Application, Workload
from gpushare.results.result import Result

PAPER: dict[str, Any] = tomllib.loads(Path(__file__).with_name("paper.toml").read_text(encoding="utf-8"))
TIME_SLICING, MPS, SLATE, LEFTOVER, WHOLE = "time-slicing", "MPS", "slate", "leftover", "left whole"

POLICIES = {TIME_SLICING: "round-robin", MPS: "fifo", SLATE: "slate", LEFTOVER: "slate:queue_gets_leftover=yes"}
"""On a simulated GPU."""


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
