# SPDX-License-Identifier: Apache-2.0
"""Plots one metric per application under every policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpushare.plots.axes import axes_or_new, clean, readable_ticks
from gpushare.plots.palette import FAINT, policy_styles
from gpushare.plots.registry import plot_of_result
from gpushare.results.words import made_on, metric_named, plain, scaled, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gpushare.results.result import Result

KNOWN = ["ntt", "turnaround_ns"]


def applications_size(result: Result) -> tuple[float, float]:
    """Width and height in inches for this many applications."""
    names = {application.name for run in result.runs for application in run.workload.applications}
    return 8.5, min(max(2.8, 1.6 + 0.42 * len(names)), 14.0)


@plot_of_result
def draw_applications(result: Result, metric: str = "ntt", ax: Axes | None = None) -> Axes:
    """``ntt`` (slowdown) or ``turnaround_ns`` per application and policy: a row per application.

    Times in µs or ms by magnitude.
    """
    what = metric_named(metric, KNOWN)
    ax = axes_or_new(ax, *applications_size(result))
    logs = np.log(result.to_pandas().groupby(["application", "policy"], sort=False)[metric].median())
    table = np.exp(logs).unstack("policy")
    scale, unit = scaled(metric, float(table.to_numpy().max()))
    rows = np.arange(len(table))
    ax.hlines(rows, table.min(axis=1) / scale, table.max(axis=1) / scale, color=FAINT, alpha=0.4, linewidth=3)
    for policy, (colour, marker) in policy_styles(result).items():
        values = table[policy] / scale
        ax.plot(values, rows, marker=marker, color=colour, linestyle="none", markersize=7, label=plain(policy))
    ax.set_xscale("log")
    readable_ticks(ax, "x")
    ax.set_yticks(rows, [plain(shortened(name)) for name in table.index])
    ax.set_ylim(len(table) - 0.5, -0.5)
    ax.set_xlabel(f"{what.words}{unit}: {what.better}")
    median = "median over its runs" if len(result.runs) > len(result.policies) else "one run each"
    clean(ax, f"{what.short} per application and policy ({median}){made_on(result)}", "x")
    ax.tick_params(axis="y", length=0)
    ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=9, frameon=False)
    return ax
