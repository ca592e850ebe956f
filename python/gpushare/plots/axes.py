# SPDX-License-Identifier: Apache-2.0
"""Common style of all plots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from gpushare.extras import extra
from gpushare.plots.palette import FAINT, INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def axes_or_new(ax: Axes | None, width_inches: float, height_inches: float) -> Axes:
    """The axes given, or those of a new figure of this size."""
    if ax is None:
        with extra("analysis"):
            from matplotlib import pyplot

        _, ax = pyplot.subplots(figsize=(width_inches, height_inches), layout="constrained")
    return ax


def detached_axes(width_inches: float, height_inches: float) -> Axes:
    """The axes of a new figure that is not registered in pyplot, for files."""
    return detached_figure(width_inches, height_inches).subplots()


def detached_figure(width_inches: float, height_inches: float) -> Figure:
    """A new figure that is not registered in pyplot, for files."""
    with extra("analysis"):
        from matplotlib.figure import Figure

    return Figure(figsize=(width_inches, height_inches), layout="constrained")


def figure_of(ax: Axes) -> Figure:
    """The figure that the axes are in, also where a subfigure is between them."""
    return ax.figure.figure


def clean(ax: Axes, title: str, grid: Literal["both", "x", "y"] | None = "y") -> None:
    """Title at the left, no frame, a faint grid behind the data."""
    ax.set_title(title, loc="left", fontsize=11, color=INK)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(FAINT)
    ax.tick_params(colors=INK, labelsize=9)
    ax.xaxis.label.set_color(INK)
    ax.yaxis.label.set_color(INK)
    ax.set_axisbelow(True)
    if grid:
        ax.grid(axis=grid, color=FAINT, alpha=0.25, linewidth=0.6)


def readable_ticks(ax: Axes, axis: str) -> None:
    """Plain numbers instead of powers of ten on a logarithmic axis; labels between the powers if few fit."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    side = ax.xaxis if axis == "x" else ax.yaxis
    low, high = ax.get_xlim() if axis == "x" else ax.get_ylim()
    ratio = max(low, high) / min(low, high)
    steps = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0) if ratio < 20 else (1.0, 2.0, 5.0) if ratio < 1_000 else (1.0,)
    side.set_major_locator(LogLocator(subs=steps))
    side.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    side.set_minor_formatter(NullFormatter())
