# SPDX-License-Identifier: Apache-2.0
"""Plots the throughput of pairs against the partition of the SMs (CD-search Figs. 3 and 5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gpushare._core import InvalidInput
from gpushare.plots.axes import axes_or_new, clean
from gpushare.plots.palette import COLOURS, FAINT, MARKERS
from gpushare.results.words import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_partition(curves: Mapping[str, Mapping[int, float]], sms: int, ax: Axes | None = None) -> Axes:
    """One line per pair: its STP by the number of SMs of its first kernel; the second has the rest.

    Args:
        curves: by legend label: STP by number of SMs.
        sms: SMs of the GPU.
        ax: the axes to draw on.

    Raises:
        InvalidInput: there is no curve, or a part exceeds the GPU.
    """
    if not curves or not all(curves.values()):
        raise InvalidInput("there is no partition to draw")
    for label, curve in curves.items():
        if not all(0 < part < sms for part in curve):
            raise InvalidInput(f"{label!r}: each of two kernels must have some of the {sms} SMs")
    ax = axes_or_new(ax, 7.0, 4.4)
    ax.axhline(1, color=FAINT, linestyle="--", linewidth=1.2)
    ax.axvline(sms / 2, color=FAINT, linestyle=":", linewidth=1.2)
    for number, (label, curve) in enumerate(curves.items()):
        parts = sorted(curve)
        ax.plot(
            parts, [curve[part] for part in parts], label=plain(label), color=COLOURS[number % len(COLOURS)],
            marker=MARKERS[number % len(MARKERS)], markersize=4.5, linewidth=1.4,
        )  # fmt: skip
    ax.set(xlabel=f"SMs of the first kernel, of {sms}", ylabel="System throughput (STP)", xlim=(0, sms))
    clean(ax, "Throughput against the partition", "both")
    ax.legend(fontsize=8, frameon=False)
    return ax
