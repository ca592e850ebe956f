# SPDX-License-Identifier: Apache-2.0
"""Plots the states of every application's launches over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpushare.plots.axes import axes_or_new, clean
from gpushare.plots.registry import plot_of_run
from gpushare.results.words import time_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gpushare.results.run import Run

STATES = {"PREP": "#DDDDDD", "READY": "#F0C987", "TORUN": "#56B4E9", "RUNNING": "#0072B2", "TOEVICT": "#D55E00"}
"""Colours by state; DONE has no length."""


@plot_of_run
def draw_states(run: Run, ax: Axes | None = None) -> Axes:
    """The states of launches (:meth:`gpushare.Run.kernel_states`), one lane per application."""
    spans = run.kernel_states()
    names = [application.name for application in run.workload.applications]
    scale, unit = time_unit(run.record.makespan)
    ax = axes_or_new(ax, 9, 1.2 + 0.32 * len(names))
    for state, colour in STATES.items():
        for lane, name in enumerate(names):
            rows = spans[(spans["state"] == state) & (spans["application"] == name)]
            bars = [(row.begin_ns / scale, (row.end_ns - row.begin_ns) / scale) for row in rows.itertuples()]
            ax.broken_barh(bars, (lane - 0.4, 0.8), color=colour, label=state if lane == 0 else None, gid=state)
    priorities = [application.priority for application in run.workload.applications]
    ax.set_yticks(range(len(names)), [f"{name} ({p})" for name, p in zip(names, priorities, strict=True)])
    ax.set_xlim(0, run.record.makespan / scale)
    ax.set_xlabel(f"time ({unit})")
    ax.invert_yaxis()
    clean(ax, f"States under {run.policy} (priority)", grid=None)
    ax.legend(ncols=len(STATES), fontsize=8, frameon=False, loc="lower right", bbox_to_anchor=(1, 1))
    return ax
