# SPDX-License-Identifier: Apache-2.0
"""Plots every policy on every workload (SRTF Figs. 14 to 16), sorted, with the mean at the right.

Points of many policies cover each other, so those are drawn as a map with a row for each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpushare._core import InvalidInput
from gpushare.extras import pandas as pd
from gpushare.plots.axes import axes_or_new, clean, figure_of, readable_ticks
from gpushare.plots.labels import spread_apart
from gpushare.plots.palette import FAINT, INK, policy_styles
from gpushare.plots.registry import plot_of_result
from gpushare.results.ranking import best_of, realizable
from gpushare.results.result import GEOMEAN_COLUMNS, known_among
from gpushare.results.words import Metric, made_on, metric_named, number, plain, scaled, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gpushare.results.result import Result

MOST_POINTS = 8
"""Policies that can be told apart as points; with more of them, and as many workloads, the plot is a map."""
KNOWN = ["stp", "antt", "strictf", "makespan_ns", "turnaround_p50_ns", "turnaround_p95_ns", "turnaround_p99_ns"]
KNOWN += ["sm_utilisation", "to_device_utilisation", "to_host_utilisation"]


def policies_size(result: Result) -> tuple[float, float]:
    """Width and height in inches for this many workloads."""
    workloads = len(result.workloads)
    if workloads == 1:
        return 7.0, 1.4 + 0.33 * len(result.policies)
    height = 2.4 + 0.24 * len(result.policies) if _is_map(result) else 5.4
    return min(max(6.5, 3.0 + 0.17 * workloads), 16.0), height


def _is_map(result: Result) -> bool:
    return min(len(result.policies), len(result.workloads)) > MOST_POINTS


@plot_of_result
def draw_policies(result: Result, metric: str = "stp", ax: Axes | None = None) -> Axes:
    """One metric (a column of :meth:`Result.metrics`) for every policy and workload, and the means.

    Times in µs or ms by magnitude.
    """
    per_workload = result.per_workload()
    what = metric_named(metric, known_among(KNOWN, per_workload))
    ax = axes_or_new(ax, *policies_size(result))
    table = per_workload[metric].unstack("policy").loc[result.workloads, result.policies]
    means = result.metrics()[metric].dropna()
    if means.empty:
        raise InvalidInput(f"no policy has {metric}: it is not known for scheduling by the hardware")
    scale, unit = scaled(metric, float(np.nanmax(table.to_numpy())))
    if len(table) == 1:
        _draw_one_workload(ax, result, what, table.iloc[0] / scale, unit)
    else:
        best = best_of(means.loc[realizable(list(means.index))].to_frame(), metric)
        table, means = table.sort_values(best, kind="stable") / scale, means / scale
        mean = "geometric mean" if metric in GEOMEAN_COLUMNS else "mean"
        title = f"{what.short} of {len(table)} workloads, sorted by {plain(best)}, which has the best {mean}"
        if _is_map(result):
            _draw_map(ax, table, means, what, f"{what.words}{unit}: {what.better}")
            clean(ax, title + made_on(result), grid=None)
            ax.spines[["left", "bottom"]].set_visible(False)
            ax.tick_params(axis="y", length=0)
        else:
            _draw_workloads(ax, result, table, means, best, what)
            ax.set_ylabel(f"{what.words}{unit}\n{what.better}", fontsize=9)
            clean(ax, title + made_on(result))
            if what.logarithmic:
                readable_ticks(ax, "y")
        ax.tick_params(axis="x", labelsize=_name_size(len(table)), length=0)
    return ax


def _draw_one_workload(ax: Axes, result: Result, what: Metric, values: pd.Series, unit: str) -> None:
    """One row per policy: a point with its value."""
    styles = policy_styles(result)
    values = values.dropna()
    for row, (policy, value) in enumerate(values.items()):
        colour, marker = styles[policy]
        ax.plot(value, row, marker=marker, color=colour, markersize=8, gid=f"policy-{row}")
        ax.annotate(
            number(value), (value, row), xytext=(8, 0), textcoords="offset points", va="center", fontsize=9, color=INK
        )
    if what.logarithmic and values.max() > 4 * values.min():
        ax.set_xscale("log")
        readable_ticks(ax, "x")
    else:
        ax.set_xlim(0, 1.15 * values.max())
    ax.hlines(range(len(values)), ax.get_xlim()[0], values, color=FAINT, linewidth=1, alpha=0.6, zorder=0)
    ax.margins(x=0.12)
    ax.set_yticks(range(len(values)), [plain(policy) for policy in values.index])
    ax.set_ylim(len(values) - 0.5, -0.5)
    ax.set_xlabel(f"{what.words}{unit}: {what.better}", fontsize=9)
    clean(ax, f"{what.short} on {plain(shortened(result.workloads[0], 40))}{made_on(result)}", "x")
    ax.tick_params(axis="y", length=0)


def _draw_workloads(ax: Axes, result: Result, table: pd.DataFrame, means: pd.Series, best: str, what: Metric) -> None:
    places = np.arange(len(table))
    mean_place = len(table) + max(0.6, 0.015 * len(table))
    ax.vlines([*places, mean_place], [*table.min(axis=1), means.min()], [*table.max(axis=1), means.max()],
              color=FAINT, alpha=0.35, linewidth=1, zorder=1)  # fmt: skip
    for place, (policy, (colour, marker)) in enumerate(policy_styles(result).items()):
        if policy not in means.index:
            continue
        is_best = policy == best
        ax.plot(
            places, table[policy], marker=marker, color=colour, markersize=5.5 if is_best else 5,
            linewidth=1.5 if is_best else 0, alpha=1 if is_best else 0.85, zorder=3 if is_best else 2,
            gid=f"policy-{place}",
        )  # fmt: skip
        ax.plot(mean_place, means[policy], marker=marker, color=colour, markersize=8, zorder=4, clip_on=False)
    ax.axvline(len(table) - 0.4, color=FAINT, linewidth=0.8)
    if what.logarithmic:
        ax.set_yscale("log")
    ax.set_xlim(-0.8, mean_place + 0.5)
    names = [plain(shortened(name, 26)) for name in table.index]
    ax.set_xticks([*places, mean_place], [*names, "mean"], rotation=90)
    _name_policies(ax, means, mean_place, result)


def _draw_map(ax: Axes, table: pd.DataFrame, means: pd.Series, what: Metric, words: str) -> None:
    """One row per policy, the best mean first, and one column per workload; the colour is the value."""
    from matplotlib.colors import LogNorm, Normalize

    order = means.sort_values(ascending=what.lower_is_better, kind="stable")
    values = table[order.index].to_numpy().T
    norm = (LogNorm if what.logarithmic else Normalize)(float(np.nanmin(values)), float(np.nanmax(values)))
    colours = "cividis_r" if what.lower_is_better else "cividis"  # bright is good
    mesh = ax.pcolormesh(values, cmap=colours, norm=norm, edgecolors="face", linewidth=0.1)
    ax.invert_yaxis()
    names = [plain(shortened(name, 26)) for name in table.index]
    ax.set_xticks(np.arange(len(table)) + 0.5, names, rotation=90)
    ax.set_yticks(np.arange(len(order)) + 0.5, [f"{plain(policy)}  {number(value)}" for policy, value in order.items()])
    bar = figure_of(ax).colorbar(mesh, ax=ax, pad=0.01, aspect=30)
    bar.set_label(words, fontsize=9, color=INK)
    bar.outline.set_visible(False)
    bar.ax.tick_params(colors=INK, labelsize=8)
    if what.logarithmic:
        readable_ticks(bar.ax, "y")


def _name_policies(ax: Axes, means: pd.Series, place: float, result: Result) -> None:
    """Names the policies beside their means, spread apart: this is the legend."""
    figure_of(ax).draw_without_rendering()
    heights = ax.transData.transform([(place, value) for value in means])[:, 1]
    window = ax.get_window_extent()
    gap = 11.5 * ax.figure.dpi / 72
    styles = policy_styles(result)
    wanted_heights = spread_apart(heights.tolist(), gap, window.y0 + gap / 2, window.y1 - gap / 2)
    for policy, value, wanted in zip(means.index, means, wanted_heights, strict=True):
        ax.annotate(
            f"{plain(policy)} {number(value)}", (place, value), xytext=(1.035, (wanted - window.y0) / window.height),
            textcoords="axes fraction", fontsize=9, color=INK, va="center", annotation_clip=False,
            arrowprops={
                "arrowstyle": "-", "color": styles[policy][0], "linewidth": 0.8, "shrinkB": 5, "relpos": (0, 0.5),
            },
        )  # fmt: skip


def _name_size(workloads: int) -> float:
    return 9.0 if workloads <= 28 else 7.5
