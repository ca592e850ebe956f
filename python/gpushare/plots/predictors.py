# SPDX-License-Identifier: Apache-2.0
"""Plots predicted / true runtimes, as in SRTF's Figs. 4 and 11, and by kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gpushare.plots.axes import axes_or_new, clean, readable_ticks
from gpushare.plots.palette import COLOURS, FAINT, INK
from gpushare.results.predictor_accuracy import MODELS, TOLERANCE, Accuracy, share_within
from gpushare.results.words import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RANGE = (0.2, 2.2)
"""Limits of the axis; values beyond are drawn at the edge."""
SHADES = dict(zip(MODELS, (COLOURS[1], COLOURS[4], COLOURS[3], COLOURS[0]), strict=True))
Accuracies = Mapping[str, Mapping[str, Accuracy]]


def draw_models(accuracy: Accuracies, ax: Axes | None = None) -> Axes:
    """One box per model, over all kernels; whiskers reach the 5th and 95th percentile. `accuracy` is by kernel."""
    ax = axes_or_new(ax, 5.0, 4.0)
    names = [f"{words}\n{share_within(accuracy, model):.0%} within 10%" for model, words in MODELS.items()]
    ratios = [np.concatenate([by_model[model].ratios for by_model in accuracy.values()]) for model in MODELS]
    boxes = ax.boxplot(
        [np.clip(each, *RANGE) for each in ratios],
        whis=(5, 95),
        showfliers=False,
        widths=0.6,
        patch_artist=True,
        medianprops={"color": INK},
    )
    for box, model in zip(boxes["boxes"], MODELS, strict=True):
        box.set(facecolor=SHADES[model], alpha=0.75, edgecolor=INK)
    ax.set_xticks(range(1, len(names) + 1), names)
    ax.set_yscale("log")
    ax.set_ylim(*RANGE)
    _mark_good(ax, "y")
    clean(ax, f"all {len(accuracy)} kernels")
    ax.set_ylabel("predicted / true runtime")
    return ax


def draw_kernels(
    accuracy: Accuracies, models: Sequence[str] = ("simple_slicing", "drain_rate"), ax: Axes | None = None
) -> Axes:
    """Median and range by kernel, sorted: the last model's largest errors are at the top."""
    ax = axes_or_new(ax, 7.0, 0.17 * len(accuracy) + 1.2)
    kernels = sorted(accuracy, key=lambda kernel: (-accuracy[kernel][models[-1]].within, kernel))
    for model, offset in zip(models, np.linspace(-0.18, 0.18, len(models)), strict=True):
        rows = np.arange(len(kernels)) - offset
        found = [np.clip(accuracy[kernel][model].ratios, *RANGE) for kernel in kernels]
        low, high = [each.min() for each in found], [each.max() for each in found]
        ax.hlines(rows, low, high, color=SHADES[model], linewidth=1.6)
        middles = [np.median(each) for each in found]
        ax.plot(middles, rows, "o", color=SHADES[model], markersize=3.5, label=MODELS[model], gid=model)
    ax.set_yticks(range(len(kernels)), [plain(kernel) for kernel in kernels])
    ax.set_ylim(-0.8, len(kernels) - 0.2)
    ax.set_xscale("log")
    ax.set_xlim(*RANGE)
    _mark_good(ax, "x")
    clean(ax, "kernel by kernel: median and range", grid="x")
    ax.set_xlabel("predicted / true runtime")
    ax.tick_params(axis="y", labelsize=7)
    ax.legend(loc="lower left", fontsize=8, frameon=True, framealpha=0.92, edgecolor=FAINT)
    return ax


def _mark_good(ax: Axes, axis: str) -> None:
    """Shades 0.9x to 1.1x."""
    span, line = (ax.axhspan, ax.axhline) if axis == "y" else (ax.axvspan, ax.axvline)
    span(1 - TOLERANCE, 1 + TOLERANCE, color=COLOURS[2], alpha=0.15, linewidth=0)
    line(1, color=FAINT, linewidth=0.8)
    readable_ticks(ax, axis)
