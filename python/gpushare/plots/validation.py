# SPDX-License-Identifier: Apache-2.0
"""Plots a GPU and its simulator: time against SMs per kernel, pairs measured against simulated, errors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from gpushare.extras import pandas as pd
from gpushare.plots.axes import clean, detached_figure, readable_ticks
from gpushare.plots.palette import COLOURS, FAINT, INK, MARKERS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS = 4
WIDE = 0.15
"""Errors up to this size are shaded."""


def draw_solo(table: pd.DataFrame, x: str) -> Figure:
    """Small multiples: measured (dots) and simulated (line) time of a kernel by ``point``, labelled ``x``."""
    kernels = list(dict.fromkeys(table["what"]))
    rows = math.ceil(len(kernels) / COLUMNS)
    figure = detached_figure(11, 2.3 * rows + 0.6)
    grid = figure.subplots(rows, COLUMNS, squeeze=False)
    for ax, kernel in zip(grid.flat, kernels, strict=False):
        _draw_kernel(ax, kernel, table[table["what"] == kernel].sort_values("point"))
    for ax in list(grid.flat)[len(kernels) :]:
        ax.set_axis_off()
    figure.supxlabel(x, fontsize=10, color=INK)
    figure.supylabel("time of one launch, ms", fontsize=10, color=INK)
    figure.suptitle("Medians of the size of the error", x=0.01, ha="left", fontsize=10, color=INK)
    figure.legend(*grid.flat[0].get_legend_handles_labels(), loc="outside upper right", ncols=2, frameon=False)
    return figure


def _draw_kernel(ax: Axes, kernel: str, rows: pd.DataFrame) -> None:
    ax.plot(rows["point"], rows["simulated"] / 1e6, color=COLOURS[1], linewidth=1.6, label="simulated")
    ax.plot(
        rows["point"], rows["measured"] / 1e6, "o", color=COLOURS[0], markersize=3.5, label="measured", zorder=3
    )  # fmt: skip
    ax.set(xscale="log", yscale="log")
    sizes = rows["error"].abs()
    clean(ax, "", "both")
    ax.set_title(f"{kernel}: {sizes.median():.1%}", loc="left", fontsize=9, color=INK)
    readable_ticks(ax, "x")
    readable_ticks(ax, "y")
    ax.tick_params(labelsize=7.5)


def draw_pairs(table: pd.DataFrame, figure_name: str) -> Figure:
    """Small multiples by way of sharing: one dot per pair, measured on the x axis, simulated on the y axis."""
    ways = list(dict.fromkeys(table["way"]))
    columns = min(COLUMNS, COLUMNS - 1, key=lambda count: -len(ways) % count)  # the number with fewer empty places
    rows = math.ceil(len(ways) / columns)
    figure = detached_figure(2.7 * columns + 0.4, 2.9 * rows + 0.4)
    grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True, subplot_kw={"aspect": "equal"})
    low = min(table["measured"].min(), table["simulated"].min())
    high = max(table["measured"].max(), table["simulated"].max())
    for ax in list(grid.flat)[max(len(ways) - columns, 0) : len(ways)]:
        ax.tick_params(labelbottom=True)
    for number, (ax, way) in enumerate(zip(grid.flat, ways, strict=False)):
        _draw_way(ax, table[table["way"] == way], way, (low * 0.95, high * 1.05), number)
    for ax in list(grid.flat)[len(ways) :]:
        ax.set_axis_off()
    figure.supxlabel(f"{figure_name} measured", fontsize=10, color=INK)
    figure.supylabel(f"{figure_name} simulated (band: within {WIDE:.0%})", fontsize=10, color=INK)
    return figure


def _draw_way(ax: Axes, rows: pd.DataFrame, way: str, limits: tuple[float, float], number: int) -> None:
    line = np.array(limits)
    ax.fill_between(line, line * (1 - WIDE), line * (1 + WIDE), color=FAINT, alpha=0.15, linewidth=0)
    ax.plot(line, line, color=FAINT, linewidth=1)
    colour = COLOURS[number % len(COLOURS)]
    ax.plot(rows["measured"], rows["simulated"], MARKERS[0], color=colour, markersize=3, alpha=0.75)
    ax.locator_params(nbins=6)  # equal for both axes
    ax.set(xlim=limits, ylim=limits)
    clean(ax, f"{way}: median {rows['error'].abs().median():.1%}", "both")


def draw_errors(table: pd.DataFrame) -> Figure:
    """Cumulative distribution of the errors' sizes, per figure."""
    figure = detached_figure(7, 4)
    ax = figure.subplots()
    largest = 0.05
    for number, (name, rows) in enumerate(table.groupby("figure", sort=False)):
        sizes = np.sort(rows["error"].abs().to_numpy())
        shares = np.arange(1, len(sizes) + 1) / len(sizes)
        ax.step(sizes, shares, where="post", color=COLOURS[number], linewidth=1.8, label=f"{name} ({len(sizes)})")
        largest = max(largest, float(np.quantile(sizes, 0.98)))
    ax.set(xlim=(0, largest), ylim=(0, 1.01), xlabel="size of the relative error", ylabel="share of points")
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    clean(ax, "The simulator's errors", "both")
    ax.legend(frameon=False, fontsize=9, loc="lower right")
    return figure
