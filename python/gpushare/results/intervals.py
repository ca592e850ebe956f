# SPDX-License-Identifier: Apache-2.0
"""Means over repeats with 95 % confidence intervals, of metrics and of their ratios to a baseline."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from gpushare.extras import pandas as pd

if TYPE_CHECKING:
    from gpushare.results.result import Result

CONFIDENCE = 0.95
POSITIVE = [
    "stp",
    "antt",
    "strictf",
    "makespan_ns",
    "turnaround_p50_ns",
    "turnaround_p95_ns",
    "turnaround_p99_ns",
]
"""Metrics that are positive in every run, so that they have ratios and geometric means."""


@cache
def student_quantile(degrees: int) -> float:
    """The t of which Student's distribution has 95 % of its mass within -t to t.

    >>> [round(student_quantile(degrees), 3) for degrees in (1, 4, 9, 1000)]
    [12.706, 2.776, 2.262, 1.962]
    """
    low, high = 0.0, math.pi / 2
    for _ in range(60):
        angle = (low + high) / 2
        low, high = (angle, high) if _mass_within(angle, degrees) < CONFIDENCE else (low, angle)
    return math.sqrt(degrees) * math.tan(low)


def _mass_within(angle: float, degrees: int) -> float:
    """Student's distribution between -t and t, for tan(angle) = t / sqrt(degrees): a finite series of cosines."""
    cosine = math.cos(angle)
    term = cosine if degrees % 2 else 1.0
    total = 0.0
    for power in range(1 + degrees % 2, degrees, 2):
        total += term
        term *= cosine * cosine * power / (power + 1)
    if degrees % 2:
        return (angle + math.sin(angle) * total) * 2 / math.pi
    return math.sin(angle) * total


def metric_intervals(result: Result) -> pd.DataFrame:
    """See :meth:`gpushare.Result.intervals`."""
    return _with_intervals(result, _logs(result))


def relative_to(result: Result, baseline: str) -> pd.DataFrame:
    """See :meth:`gpushare.Result.relative`."""
    logs = _logs(result).unstack("policy")
    ratios = logs.sub(logs.xs(baseline, axis=1, level="policy"), axis=1, level=0)
    return _with_intervals(result, ratios.stack("policy", future_stack=True).dropna())


def _logs(result: Result) -> pd.DataFrame:
    """Logarithms of the metrics, indexed by (repeat, workload, policy)."""
    table = result.runs_table().rename(columns={result.numbered_by: "repeat"})
    return np.log(table.set_index(["repeat", "workload", "policy"])[POSITIVE])


def _with_intervals(result: Result, logs: pd.DataFrame) -> pd.DataFrame:
    """One row per policy: geometric means over the repeats, and the ends of their intervals; NaN for one repeat."""
    means = logs.groupby(["repeat", "policy"], sort=False).mean()
    grouped = means.groupby("policy", sort=False)
    count, mean, deviation = grouped[POSITIVE[0]].count(), grouped.mean(), grouped.std()
    quantiles = count.map(lambda repeats: student_quantile(repeats - 1) if repeats > 1 else math.nan)
    half = deviation.mul(quantiles / np.sqrt(count), axis=0)
    columns = {"repeats": count}
    for name in POSITIVE:
        columns[name] = np.exp(mean[name])
        columns[f"{name}_low"] = np.exp(mean[name] - half[name])
        columns[f"{name}_high"] = np.exp(mean[name] + half[name])
    return pd.DataFrame(columns).loc[result.policies]
