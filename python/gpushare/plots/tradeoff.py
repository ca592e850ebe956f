# SPDX-License-Identifier: Apache-2.0
"""Plots one point per policy on two metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpushare._core import InvalidInput
from gpushare.extras import pandas as pd
from gpushare.plots.axes import axes_or_new, clean, figure_of, readable_ticks
from gpushare.plots.labels import label_points
from gpushare.plots.palette import FAINT, policy_styles
from gpushare.plots.registry import plot_of_result
from gpushare.results.result import GEOMEAN_COLUMNS, known_among
from gpushare.results.words import Metric, made_on, metric_named, scaled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gpushare.results.result import Result

KNOWN = ["stp", "antt", "strictf", "makespan_ns", "turnaround_p50_ns", "turnaround_p95_ns", "turnaround_p99_ns"]
KNOWN += ["sm_utilisation"]
WORTH_A_LOGARITHM = 4.0
"""Ratio of the largest to the smallest value above which an axis is logarithmic."""


@plot_of_result
def draw_tradeoff(result: Result, x: str = "antt", y: str = "stp", ax: Axes | None = None) -> Axes:
    """One labelled point per policy on two metrics (columns of :meth:`Result.metrics`); bars span the repeats.

    Times in µs or ms by magnitude.
    """
    known = known_among(KNOWN, result.metrics())
    metrics = metric_named(x, known), metric_named(y, known)
    ax = axes_or_new(ax, 7.0, 5.0)
    middle, low, high, spread = _figures(result, [x, y])
    units = [scaled(name, middle[name].max()) for name in (x, y)]
    for number, (policy, (colour, marker)) in enumerate(policy_styles(result).items()):
        if policy not in middle.index:
            continue
        point = [middle.loc[policy, name] / scale for name, (scale, _) in zip((x, y), units, strict=True)]
        if spread:
            bars = [
                [[value - low.loc[policy, name] / scale], [high.loc[policy, name] / scale - value]]
                for value, name, (scale, _) in zip(point, (x, y), units, strict=True)
            ]
            ax.errorbar(
                point[0],
                point[1],
                xerr=bars[0],
                yerr=bars[1],
                color=colour,
                alpha=0.4,
                linewidth=1.2,
                capsize=2,
                fmt="none",
            )
        ax.plot(*point, marker=marker, color=colour, markersize=8, linestyle="none", gid=f"policy-{number}")
    for side, metric, (_, unit) in zip("xy", metrics, units, strict=True):
        _prepare_axis(ax, side, metric, unit)
    clean(ax, _title(result, spread) + made_on(result), "both")
    _point_to_better_corner(ax, *metrics)
    places = [(middle[name] / scale).tolist() for name, (scale, _) in zip((x, y), units, strict=True)]
    label_points(ax, places[0], places[1], list(middle.index))
    return ax


def _figures(result: Result, names: list[str]) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame, str]:
    """Per policy with both metrics: values, ends of the spread bars, and a remark on the bars ("" without bars)."""
    middle = result.metrics()[names].dropna()
    if middle.empty:
        raise InvalidInput(
            f"no policy has both {' and '.join(names)}: they are not known for scheduling by the hardware"
        )
    runs = result.runs_table()
    repeats = runs.groupby(["workload", "policy"]).size().max()
    if repeats > 1:
        per_seed = _means(runs, ["policy", result.numbered_by], names)
        grouped = per_seed.groupby("policy")
        low, high = grouped.min().loc[middle.index], grouped.max().loc[middle.index]
        # The middle is computed from the medians of the workloads, so it may be beyond the range of the repeats.
        return middle, np.minimum(low, middle), np.maximum(high, middle), "bars: smallest to largest of the repeats"
    return middle, middle, middle, ""


def _means(runs: pd.DataFrame, by: list[str], names: list[str]) -> pd.DataFrame:
    """Means over workloads, as in tables: geometric for ratios, arithmetic for the rest."""
    ratios = [name for name in names if name in GEOMEAN_COLUMNS]
    means = runs.assign(**{name: np.log(runs[name]) for name in ratios}).groupby(by)[names].mean()
    return means.assign(**{name: np.exp(means[name]) for name in ratios})


def _title(result: Result, spread: str) -> str:
    count = len(result.workloads)
    what = f"mean of {count} workloads" if count > 1 else "one workload"
    return f"What each policy is worth ({what}{'; ' + spread if spread else ''})"


def _prepare_axis(ax: Axes, side: str, metric: Metric, unit: str) -> None:
    low, high = ax.get_xlim() if side == "x" else ax.get_ylim()
    label = f"{metric.words}{unit}: {metric.better}"
    if metric.logarithmic and low > 0 and high / low > WORTH_A_LOGARITHM:
        ax.set(**{f"{side}scale": "log"})
    ax.set(**{f"{side}label": label})
    ax.margins(0.12)
    ax.autoscale_view()
    if (ax.get_xscale() if side == "x" else ax.get_yscale()) == "log":
        readable_ticks(ax, side)


def _point_to_better_corner(ax: Axes, x: Metric, y: Metric) -> None:
    """An arrow towards better values of both metrics, in the corner that is farthest from any point."""
    figure_of(ax).draw_without_rendering()
    points = [
        ax.transAxes.inverted().transform(ax.transData.transform(np.asarray(line.get_xydata())[0])) for line in ax.lines
    ]
    corners = [(right, top) for right in (0.87, 0.13) for top in (0.88, 0.12)]
    middle = max(corners, key=lambda corner: min(np.hypot(*(point - corner)) for point in points))
    across, up = (-0.05 if x.lower_is_better else 0.05), (-0.06 if y.lower_is_better else 0.06)
    tip, tail = (middle[0] + across, middle[1] + up), (middle[0] - across, middle[1] - up)
    arrow = {"arrowstyle": "-|>", "color": FAINT, "linewidth": 1.5}
    ax.annotate("", tip, xytext=tail, xycoords="axes fraction", textcoords="axes fraction", arrowprops=arrow)
    side: dict[str, Any] = {"ha": "left" if across < 0 else "right", "va": "bottom" if up > 0 else "top"}
    ax.text(middle[0] - across / 4, middle[1] + up / 4, "better", transform=ax.transAxes, color=FAINT,
            fontsize=10, style="italic", **side)  # fmt: skip
