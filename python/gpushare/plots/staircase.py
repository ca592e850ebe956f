# SPDX-License-Identifier: Apache-2.0
"""Plots the staircase of a launch on one SM with the prediction of Eq. 1 (SRTF Figs. 2, 3 and 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpushare import _core
from gpushare._core import InvalidInput
from gpushare.plots.axes import axes_or_new, clean
from gpushare.plots.palette import FAINT, INK
from gpushare.plots.registry import plot_of_run
from gpushare.results.words import duration, plain, shortened, time_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from gpushare.results.run import Run

FIT, PREDICTION = "#009E73", "#D55E00"


@dataclass(frozen=True)
class Staircase:
    """The blocks of one launch on one SM, by end time, in nanoseconds, and the predictions of two models.

    Blocks that were reported as a group are taken as equal: each has the group's mean duration and its end.
    """

    application: str
    kernel: str
    residency: int
    starts_ns: NDArray[np.int64]
    ends_ns: NDArray[np.int64]

    @property
    def origin_ns(self) -> int:
        """Start of the first block."""
        return int(self.starts_ns.min())

    @property
    def runtime_ns(self) -> int:
        """Time from the first start to the last end."""
        return int(self.ends_ns[-1]) - self.origin_ns

    @property
    def predicted_ns(self) -> int:
        """Eq. 1: ceil(N / R) t, with t the duration of the block that ended first."""
        block_time = int(self.ends_ns[0] - self.starts_ns[0])
        return _core.staircase_runtime(len(self.ends_ns), self.residency, block_time)

    @property
    def fitted_ns(self) -> int | None:
        """End of the last block on the least-squares line through all end times; None with fewer than two."""
        since_start = (self.ends_ns - self.origin_ns).tolist()
        return _core.linear_regression_runtime(since_start, len(self.ends_ns))


def staircase(run: Run, sm: int = 0, application: str | None = None) -> Staircase:
    """The application's first launch with blocks on this SM; by default of the first application there.

    Raises:
        InvalidInput: there is no such SM or application, it had no block there, or single blocks were not reported.
    """
    if not run.has_blocks:
        raise InvalidInput(
            f"the run under {run.policy!r} has no staircase: the hardware scheduled it and reported no blocks; "
            "take a run under a policy of gpushare"
        )
    if not 0 <= sm < run.device.sms:
        raise InvalidInput(f"no SM {sm}; {run.device.name} has {run.device.sms}, counted from 0")
    names = [each.name for each in run.workload.applications]
    if application is not None and application not in names:
        raise InvalidInput(f"workload {run.workload.name!r} has no application {application!r}; it has: {names}")
    table = run.blocks()
    table = table[table["sm"] == sm]
    if application is not None:
        table = table[table["application"] == application]
    if table.empty:
        raise InvalidInput(f"no block of {application or 'any application'} ran on SM {sm}")
    first = table.loc[table["start_ns"].idxmin()]
    table = table[table["launch"] == first["launch"]].sort_values("end_ns", kind="stable")
    residency = max(1, run.max_residency[first["launch"]])
    if table["blocks"].max() > residency:
        raise InvalidInput(
            f"the launch of {first['kernel']!r} by {first['application']!r} has no staircase: its kernel cannot be "
            "preempted, so it ran as the original kernel and single blocks were not reported"
        )
    starts, ends = (np.repeat(table[column].to_numpy(), table["blocks"]) for column in ("start_ns", "end_ns"))
    return Staircase(first["application"], first["kernel"], residency, starts, ends)


@plot_of_run
def draw_staircase(run: Run, sm: int = 0, application: str | None = None, ax: Axes | None = None) -> Axes:
    """The blocks of one launch on one SM by end time (SRTF Figs. 2, 3, 5), a linear fit, and Eq. 1.

    Args:
        run: the run.
        sm: number of the SM, from 0.
        application: its first launch there is drawn; by default that of the first application on this SM.
        ax: the axes to draw on; by default those of a new figure. Time in µs or ms by magnitude.

    Raises:
        InvalidInput: there is no such SM or application, or it had no block there.
    """
    stairs = staircase(run, sm, application)
    ax = axes_or_new(ax, 8.0, 5.2)
    last = max(stairs.runtime_ns, stairs.predicted_ns, stairs.fitted_ns or 0)
    scale, unit = time_unit(last)
    _draw_blocks(ax, stairs, scale)
    _draw_models(ax, stairs, scale)
    ax.set_xlim(-0.02 * last / scale, 1.04 * last / scale)
    ax.set_xlabel(f"time since the first block's start ({unit})")
    ax.set_ylabel("block, in order of ending")
    launch = f"{plain(shortened(stairs.application))}: {plain(shortened(stairs.kernel))}"
    what = f"{len(stairs.ends_ns)} blocks, {stairs.residency} at a time"
    clean(ax, f"{launch} on SM {sm} under {plain(run.policy)} ({what})")
    ax.legend(loc="lower right", fontsize=9, frameon=True, framealpha=0.92, edgecolor=FAINT)
    return ax


def _draw_blocks(ax: Axes, stairs: Staircase, scale: int) -> None:
    rows = np.arange(1, len(stairs.ends_ns) + 1)
    starts = (stairs.starts_ns - stairs.origin_ns) / scale
    ends = (stairs.ends_ns - stairs.origin_ns) / scale
    size = float(np.clip(220 / len(rows), 1.8, 5.5))
    ax.hlines(rows, starts, ends, color=FAINT, alpha=0.45, linewidth=min(size / 2, 1.2))
    ax.plot(starts, rows, "s", color=INK, markersize=size, label="block starts", gid="starts")
    ax.plot(ends, rows, "o", color="#0072B2", markersize=size, label="block ends", gid="ends")


def _draw_models(ax: Axes, stairs: Staircase, scale: int) -> None:
    rows = np.arange(1, len(stairs.ends_ns) + 1)
    if stairs.fitted_ns is not None:
        slope, offset = np.polyfit(rows, (stairs.ends_ns - stairs.origin_ns) / scale, 1)
        label = f"line through the ends: {duration(stairs.fitted_ns)} ({_against(stairs.fitted_ns, stairs)})"
        ax.plot(offset + slope * rows, rows, color=FIT, linewidth=1.8, label=label, gid="fit")
    label = f"Eq. 1 from the first block: {duration(stairs.predicted_ns)} ({_against(stairs.predicted_ns, stairs)})"
    ax.axvline(stairs.predicted_ns / scale, color=PREDICTION, linestyle="--", label=label, gid="prediction")


def _against(predicted_ns: int, stairs: Staircase) -> str:
    """Error of a prediction, in percent of the runtime."""
    if stairs.runtime_ns == 0:
        return "exact"
    return f"{100 * (predicted_ns / stairs.runtime_ns - 1):+.1f}%"
