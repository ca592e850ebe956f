# SPDX-License-Identifier: Apache-2.0
"""Plots times of a kernel alone against residency (SRTF Figs. 7 and 8): of a block, and of the grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpushare._core import InvalidInput
from gpushare.plots.axes import axes_or_new, clean
from gpushare.plots.palette import COLOURS, MARKERS
from gpushare.profile.points import points_of
from gpushare.results.words import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gpushare.profile.record import KernelProfile

BLOCK, GRID = "block", "grid"
WORDS = {BLOCK: "mean time of a block", GRID: "time of the grid"}


def times(profile: KernelProfile, of: str) -> dict[int, float]:
    """The time of a block, or of the grid at the measured rate, in nanoseconds, by blocks per SM.

    Raises:
        InvalidInput: ``of`` is neither ``"block"`` nor ``"grid"``, or the profile has no such curve.
    """
    if of not in WORDS:
        raise InvalidInput(f"times: expected one of {list(WORDS)}, got {of!r}")
    curve = profile.against_residency
    if curve is None:
        missing = profile.refusal or "it was not measured"
        raise InvalidInput(f"{profile.kernel!r} has no curve against blocks per SM: {missing}")
    if of == BLOCK:
        return dict(zip(curve.residency, curve.block_ns, strict=True))
    return {each.residency: profile.blocks / each.blocks_per_ns for each in points_of(profile, curve)}


def draw_residency(profiles: Sequence[KernelProfile], of: str = GRID, ax: Axes | None = None) -> Axes:
    """One line per kernel, relative to the smallest measured residency, which is one block per SM.

    Raises:
        InvalidInput: there is no profile, or as for :func:`times`.
    """
    curves = [(profile.kernel, times(profile, of)) for profile in profiles]
    if not curves:
        raise InvalidInput("there is no profile to draw")
    ax = axes_or_new(ax, 7.0, 4.4)
    for number, (kernel, curve) in enumerate(curves):
        ax.plot(
            list(curve), [time / curve[min(curve)] for time in curve.values()], label=plain(kernel),
            color=COLOURS[number % len(COLOURS)], marker=MARKERS[number % len(MARKERS)], markersize=3.5, linewidth=1.4,
        )  # fmt: skip
    ax.set(xlabel="blocks per SM", ylabel=f"{WORDS[of]} / that with one block per SM")
    ax.set_ylim(0)
    clean(ax, f"{WORDS[of].capitalize()} against residency", "both")
    ax.legend(fontsize=8, frameon=False)
    return ax
