# SPDX-License-Identifier: Apache-2.0
"""Plots speed against the number of SMs (Slate Fig. 1, CD-search Figs. 7 and 9)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpushare._core import InvalidInput
from gpushare.plots.axes import axes_or_new, clean
from gpushare.plots.palette import COLOURS, FAINT, MARKERS
from gpushare.profile.points import points_of
from gpushare.results.words import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gpushare.profile.record import KernelProfile

ONE, ALL = "one", "all"
WORDS = {ONE: "speed / speed on one SM", ALL: "speed / speed on all SMs"}


def speeds(profile: KernelProfile) -> dict[int, float]:
    """Blocks per nanosecond by the number of SMs.

    Points are left out if their window had only the grid's first blocks and these differ from the others, by the
    weights of :func:`gpushare.profile.points.points_of`.

    Raises:
        InvalidInput: the profile has no such curve.
    """
    if profile.against_sms is None:
        raise InvalidInput(f"{profile.kernel!r} has no curve against SMs: {profile.refusal or 'it was not measured'}")
    return {each.sms: each.blocks_per_ns for each in points_of(profile, profile.against_sms) if each.weight == 1}


def enough_sms(profile: KernelProfile, share: float = 0.95) -> int:
    """The smallest measured number of SMs that gives this share of the speed on all SMs.

    Raises:
        InvalidInput: as for :func:`speeds`.
    """
    curve = speeds(profile)
    return min(sms for sms, speed in curve.items() if speed >= share * curve[max(curve)])


def draw_scaling(profiles: Sequence[KernelProfile], relative_to: str = ALL, ax: Axes | None = None) -> Axes:
    """One line per kernel, and the speed in proportion to the SMs, dashed.

    Raises:
        InvalidInput: there is no profile, one has no curve, or one has no point at the reference.
    """
    if relative_to not in WORDS:
        raise InvalidInput(f"relative_to: expected one of {list(WORDS)}, got {relative_to!r}")
    curves = [(profile.kernel, speeds(profile)) for profile in profiles]
    if not curves:
        raise InvalidInput("there is no profile to draw")
    ax = axes_or_new(ax, 7.0, 4.4)
    most = max(max(curve) for _, curve in curves)
    slope = 1 if relative_to == ONE else 1 / most
    ax.plot([0, most], [0, slope * most], "--", color=FAINT, linewidth=1.2, label="in proportion")
    for number, (kernel, curve) in enumerate(curves):
        reference = 1 if relative_to == ONE else max(curve)
        if reference not in curve:
            raise InvalidInput(f"{kernel!r} has no speed on one SM to be relative to: take relative_to={ALL!r}")
        ax.plot(
            list(curve), [speed / curve[reference] for speed in curve.values()], label=plain(kernel),
            color=COLOURS[number % len(COLOURS)], marker=MARKERS[number % len(MARKERS)], markersize=3.5, linewidth=1.4,
        )  # fmt: skip
    ax.set(xlabel="SMs", ylabel=WORDS[relative_to], xlim=(0, 1.02 * most))
    ax.set_ylim(0)
    clean(ax, "Speed against SMs", "both")
    ax.legend(fontsize=8, frameon=False)
    return ax
