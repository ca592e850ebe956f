# SPDX-License-Identifier: Apache-2.0
"""What ``auto`` does to pairs against what something else does: a dot per pair, with the line where both are equal."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes

from gpushare.plots.axes import clean
from gpushare.plots.palette import COLOURS, FAINT, INK, MARKERS

Limits = tuple[float, float]
CLOSE = 0.02
"""Ratios as near to 1 as this are shaded."""


def scatter(ax: Axes, groups: Mapping[str, pd.DataFrame], limits: Limits, *, named: int, title: str) -> None:
    """Tables by legend, with the columns ``across`` and ``up`` by pair; ``named``: so many of the worst have names."""
    low, high = limits
    ax.fill_between(limits, [low * (1 - CLOSE), high * (1 - CLOSE)], [low * (1 + CLOSE), high * (1 + CLOSE)],
                    color=FAINT, alpha=0.18, linewidth=0)  # fmt: skip
    ax.plot(limits, limits, color=FAINT, linewidth=1)
    for number, (legend, table) in enumerate(groups.items()):
        ax.plot(table["across"], table["up"], MARKERS[number], color=COLOURS[number], markersize=4.5, alpha=0.7,
                markeredgewidth=0, label=legend)  # fmt: skip
    everybody = pd.concat(groups.values())
    ratio = everybody["up"] / everybody["across"]
    for place in ratio.argsort()[:named]:
        ax.annotate(everybody.index[place], everybody[["across", "up"]].iloc[place], (7, -3),
                    textcoords="offset points", fontsize=7.5, color=INK)  # fmt: skip
    above, below = (ratio > 1 + CLOSE).sum(), (ratio < 1 - CLOSE).sum()
    ax.text(0.03, 0.97, f"auto better by more than {CLOSE:.0%}: {above} pairs", transform=ax.transAxes, va="top",
            fontsize=9, color=INK)  # fmt: skip
    ax.text(0.97, 0.28, f"worse by more than {CLOSE:.0%}: {below} pairs", transform=ax.transAxes, ha="right",
            fontsize=9, color=INK)  # fmt: skip
    ax.set(xlim=limits, ylim=limits, box_aspect=1)
    ax.locator_params(nbins=8)
    clean(ax, title, "both")
