# SPDX-License-Identifier: Apache-2.0
"""Plots waiting and running jobs, and the SMs that they occupy, from a server's trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpushare.extras import pandas as pd
from gpushare.plots.axes import axes_or_new, clean
from gpushare.plots.palette import FAINT, INK, colours
from gpushare.results.words import plain, shortened, time_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gpushare.results.server_trace import ServerTrace

LANE = 0.9
"""Height of an application's lane; the rest is a gap."""
QUEUE = 0.16
"""Part of the lane for waiting jobs, at its top."""
MOST_QUEUED = 4
"""Largest number of waiting jobs that are drawn below each other."""
TOLD_APART = 400
"""Largest number of jobs of an application that are separated by lines."""


def draw_server_trace(trace: ServerTrace, ax: Axes | None = None) -> Axes:
    """Draws the trace and returns the axes; time in µs, ms or s by magnitude."""
    names = trace.applications
    ax = axes_or_new(ax, 9.5, 1.1 + 0.75 * max(len(names), 1))
    scale, unit = time_unit(trace.end_ns)
    most = trace.sms_held()["value"].max() if len(trace.sms_held()) else 1
    for row, (name, shade) in enumerate(colours(names).items()):
        _draw_waiting(ax, _of(trace.waiting(), name), shade, row, scale)
        _draw_running(ax, _of(trace.running(), name), shade, row, scale)
        _draw_held(ax, _of(trace.sms_held(), name), shade, row, scale, (most, trace.end_ns))
    _draw_policies(ax, trace, scale)
    ax.set_yticks([row + 0.5 for row in range(len(names))], [plain(shortened(name)) for name in names])
    ax.tick_params(axis="y", length=0, pad=8)
    ax.set(xlim=(0, trace.end_ns / scale), ylim=(max(len(names), 1), 0), xlabel=f"time ({unit})")
    where = f"on {plain(trace.device)}" if trace.device else ""
    clean(ax, f"Jobs that wait (lines) and run (pale), and the SMs that they hold (full) {where}\n", None)
    ax.spines["left"].set_visible(False)
    return ax


def _of(table: pd.DataFrame, application: str) -> pd.DataFrame:
    return table[table["application"] == application]


def _draw_waiting(ax: Axes, waiting: pd.DataFrame, shade: str, row: int, scale: int) -> None:
    for track, jobs in waiting.groupby("track"):
        place = int(str(track).removeprefix("waiting "))
        if place >= MOST_QUEUED:
            continue
        height = QUEUE / MOST_QUEUED
        begin = jobs["begin_ns"] / scale
        spans = list(zip(begin, jobs["end_ns"] / scale - begin, strict=True))
        top = row + 1 - LANE + place * height
        ax.broken_barh(spans, (top, 0.6 * height), color=shade, linewidth=0, gid=f"waiting-{row}-{place}")


def _draw_running(ax: Axes, running: pd.DataFrame, shade: str, row: int, scale: int) -> None:
    begin = running["begin_ns"] / scale
    spans = list(zip(begin, running["end_ns"] / scale - begin, strict=True))
    top = row + 1 - LANE + QUEUE
    ax.broken_barh(spans, (top, LANE - QUEUE), color=shade, alpha=0.3, linewidth=0, gid=f"running-{row}")
    if len(spans) <= TOLD_APART:
        ax.vlines(begin, top, row + 1, color="white", linewidth=0.8, zorder=3)


def _draw_held(ax: Axes, held: pd.DataFrame, shade: str, row: int, scale: int, whole: tuple[float, int]) -> None:
    """The SMs relative to the lane's height; ``whole``: the largest number of any application, and the trace's end."""
    most, end_ns = whole
    times = np.append(held["time_ns"].to_numpy(float), end_ns) / scale
    sms = held["value"].to_numpy(float)
    bottom = row + 1.0
    heights = np.append(sms, sms[-1:] if len(sms) else [0.0]) / most * (LANE - QUEUE)
    ax.fill_between(times, bottom, bottom - heights, step="post", color=shade, linewidth=0, gid=f"held-{row}")


def _draw_policies(ax: Axes, trace: ServerTrace, scale: int) -> None:
    """Marks the start of each policy."""
    for number, each in enumerate(trace.policies().itertuples()):
        time = each.time_ns / scale if number > 0 else 0.0
        if number > 0:
            ax.axvline(time, color=INK, linewidth=0.8, linestyle=":")
        ax.annotate(plain(each.name), (time, 1), xycoords=("data", "axes fraction"), xytext=(3, 2),
                    textcoords="offset points", fontsize=9, color=INK if number else FAINT)  # fmt: skip
