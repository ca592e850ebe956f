# SPDX-License-Identifier: Apache-2.0
"""Plots a run over time: one lane per SM, copy engine and application."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gpushare.plots.axes import axes_or_new, clean
from gpushare.plots.launches import NOTE, launch_spans
from gpushare.plots.palette import INK
from gpushare.plots.palette import colours as colours_of
from gpushare.plots.registry import plot_of_run
from gpushare.plots.residency import Residency, binned, residency
from gpushare.results.words import plain, shortened, time_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from gpushare._core import Device
    from gpushare.results.run import Run

DRAWN_AS_STEPS = (32, 30_000)
"""Up to this number of SMs and steps the steps are drawn; beyond, an image of means over short times."""
IMAGE_COLUMNS = 1_600
ROWS_PER_LANE = 8
LANE = 0.86
"""Height of a full lane; the rest is a gap."""
THIN = 0.27
"""Height of an SM's lane without a gap, if there are more SMs than are drawn as steps; other lanes have 1."""
TOLD_APART = 200
"""Up to this number of launches in a lane a thin gap separates them."""
DIRECTIONS = {"to_device": "copies to GPU", "to_host": "copies to host"}


def timeline_size(run: Run) -> tuple[float, float]:
    """Width and height in inches at which the lanes are readable."""
    applications = len(run.workload.applications)
    below = run.sms * _lane_height(run.sms) if run.has_blocks else applications
    return 9.5, min(max(1.2 + 0.21 * (applications + 2 + below), 3.0), 14.0)


def _lane_height(sms: int) -> float:
    return 1.0 if sms <= DRAWN_AS_STEPS[0] else THIN


@plot_of_run
def draw_timeline(run: Run, ax: Axes | None = None, colours: dict[str, str] | None = None) -> Axes:
    """The use of the SMs over time.

    One lane per application (arrival to end), per copy engine in use, and per SM; the filled part of an SM's lane is
    the part of its maximum residency in use. Time in µs or ms by magnitude.

    Args:
        run: the run.
        ax: the axes to draw on; by default those of a new figure.
        colours: a colour by the name of each application.
    """
    colours = colours or colours_of(each.name for each in run.workload.applications)
    ax = axes_or_new(ax, *timeline_size(run))
    scale, unit = time_unit(run.record.makespan)
    shades = [colours[application.name] for application in run.workload.applications]
    labels = _application_rows(ax, run, shades, scale)
    labels += _copy_rows(ax, run, colours, scale, len(labels))
    if run.has_blocks:
        _sm_rows(ax, run, shades, scale, len(labels))
        _label_rows(ax, labels, run.devices)
    else:
        labels += _launch_rows(ax, run, colours, scale, len(labels))
        _label_rows(ax, labels, ())
    ax.set_xlim(0, run.record.makespan / scale)
    ax.set_xlabel(f"time ({unit})" + ("" if run.has_blocks else f"\n{NOTE}"))
    clean(ax, f"{plain(shortened(run.workload.name, 60))} under {plain(run.policy)} on {plain(run.device_name)}", "x")
    ax.spines["left"].set_visible(False)
    return ax


def _application_rows(ax: Axes, run: Run, shades: list[str], scale: int) -> list[str]:
    """A line from arrival to end per application; its label is the legend."""
    for row, (shade, arrival, end) in enumerate(zip(shades, run.record.arrivals, run.record.ends, strict=True)):
        middle = row + 0.5
        ax.plot([arrival / scale, end / scale], [middle, middle], color=shade, linewidth=2.5, gid=f"application-{row}")
        ax.plot(arrival / scale, middle, marker=">", color=shade, markersize=7, clip_on=False)
        ax.plot(end / scale, middle, marker="s", color=shade, markersize=6, clip_on=False)
    return [shortened(application.name) for application in run.workload.applications]


def _copy_rows(ax: Axes, run: Run, colours: dict[str, str], scale: int, first_row: int) -> list[str]:
    copies = run.copies()
    used = [direction for direction in DIRECTIONS if (copies["direction"] == direction).any()]
    for row, direction in enumerate(used, first_row):
        for name, table in copies[copies["direction"] == direction].groupby("application"):
            starts = table["start_ns"] / scale
            spans = list(zip(starts, table["end_ns"] / scale - starts, strict=True))
            ax.broken_barh(spans, (row + 1 - LANE, LANE), color=colours[name], linewidth=0, gid=f"copies-{direction}")
    return [DIRECTIONS[direction] for direction in used]


def _launch_rows(ax: Axes, run: Run, colours: dict[str, str], scale: int, first_row: int) -> list[str]:
    """A lane per application with its launches, instead of lanes per SM."""
    for row, (name, spans) in enumerate(launch_spans(run).items(), first_row):
        bars = [(start / scale, (end - start) / scale) for start, end in spans]
        edge = 0.6 if len(bars) <= TOLD_APART else 0.0
        ax.broken_barh(bars, (row + 1 - LANE, LANE), color=colours[name], edgecolor="white", linewidth=edge,
                       gid=f"launches-{row - first_row}")  # fmt: skip
    ax.axhline(first_row, color=INK, linewidth=0.6)
    return [f"{shortened(each.name, 20)}: launches" for each in run.workload.applications]


def _sm_rows(ax: Axes, run: Run, shades: list[str], scale: int, first_row: int) -> None:
    steps = residency(run)
    heights = steps.occupied(steps.blocks, len(shades))
    fullest = max(1.0, float(heights.sum(axis=1).max(initial=0)))
    sms, most_steps = DRAWN_AS_STEPS
    if run.sms <= sms and len(steps.time_ns) <= most_steps:
        _draw_steps(ax, steps, heights / fullest, shades, scale, first_row)
    else:
        _draw_image(ax, run, steps, heights / fullest, shades, scale, first_row)
    ax.axhline(first_row, color=INK, linewidth=0.6)


def _draw_steps(
    ax: Axes, steps: Residency, heights: NDArray[np.float64], shades: list[str], scale: int, first_row: int
) -> None:
    for sm in range(len(steps.starts) - 1):
        part = slice(steps.starts[sm], steps.starts[sm + 1])
        time = steps.time_ns[part] / scale
        top = first_row + sm + 1 - LANE * np.cumsum(heights[part], axis=1)
        below = np.full(len(time), first_row + sm + 1.0)
        for application, shade in enumerate(shades):
            above = top[:, application]
            if (above != below).any():
                name = f"sm-{sm}-application-{application}"
                ax.fill_between(time, below, above, step="post", color=shade, linewidth=0, gid=name)
            below = above


def _draw_image(
    ax: Axes,
    run: Run,
    steps: Residency,
    heights: NDArray[np.float64],
    shades: list[str],
    scale: int,
    first_row: int,
) -> None:
    from matplotlib.colors import to_rgba

    edges = np.linspace(0, run.record.makespan, IMAGE_COLUMNS + 1)
    full = LANE if run.sms <= DRAWN_AS_STEPS[0] else 1.0
    # Index 0 is an idle SM: transparent.
    look = np.array([(1, 1, 1, 0), *(to_rgba(shade) for shade in shades)])
    levels = (1 - (np.arange(ROWS_PER_LANE) + 0.5) / ROWS_PER_LANE) / full  # above 1 is the gap between lanes
    lanes = []
    for sm in range(run.sms):
        part = slice(steps.starts[sm], steps.starts[sm + 1])
        means = np.cumsum(binned(steps.time_ns[part], heights[part], edges), axis=1)
        lanes.append(_stacked(means, levels))
    image = look[np.vstack(lanes)]
    bottom = first_row + run.sms * _lane_height(run.sms)
    extent = (0, run.record.makespan / scale, bottom, first_row)
    ax.imshow(image, extent=extent, aspect="auto", interpolation="antialiased", gid="sms")


def _stacked(tops: NDArray[np.float64], levels: NDArray[np.float64]) -> NDArray[np.int64]:
    """Per level and bin, 1 + the application at that level of the stack, or 0 above the stack."""
    below = (tops[None, :, :] <= levels[:, None, None]).sum(axis=2)
    return np.where(below < tops.shape[1], below + 1, 0)


def _label_rows(ax: Axes, labels: list[str], devices: Sequence[Device]) -> None:
    """Labels of the lanes, and of SMs; those of several devices begin with the device's number."""
    sms = sum(each.sms for each in devices)
    height, top = _lane_height(sms), float(len(labels))
    rows, names = [row + 0.5 for row in range(len(labels))], [*map(plain, labels)]
    for number, device in enumerate(devices):
        most = max(20 // len(devices), 1)
        step = next(step for step in (1, 2, 4, 8, 16, 32, 64, 128, device.sms) if device.sms / step <= most)
        shown = range(0, device.sms, step)
        rows += [top + height * (sm + 0.55) for sm in shown]
        names += [f"SM {sm}" if len(devices) == 1 else f"GPU {number}, SM {sm}" for sm in shown]
        if number > 0:
            ax.axhline(top, color=INK, linewidth=0.6)
        top += height * device.sms
    ax.set_yticks(rows, names)
    ax.tick_params(axis="y", length=0, pad=8)
    ax.set_ylim(len(labels) + height * sms, 0)
