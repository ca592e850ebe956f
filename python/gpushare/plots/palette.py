# SPDX-License-Identifier: Apache-2.0
"""Colours and markers that colour-blind readers can distinguish, on white and on black."""

from __future__ import annotations

import colorsys
from collections.abc import Iterable

from gpushare.results.result import Result

# Okabe and Ito's palette (black left out, yellow darker), then each time the colour that differs most (CIEDE2000) from
# all before it, as seen normally and by the colour-blind, of those that are visible on white and on black.
COLOURS = [
    *("#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#8C7A00", "#7F7F7F", "#96002D", "#5A3C69"),
    *("#B4C387", "#0000F0", "#8778FF", "#3C695A", "#2DD2D2", "#A52D00", "#E15A5A", "#D2A5A5", "#D20096", "#962DFF"),
]
TURN = 0.6180339887
"""Step on the colour circle: the golden ratio keeps successive colours apart."""
LIGHTNESS = (0.42, 0.58, 0.34)
MARKERS = "osD^vP*Xph<>8"
INK = "#1b1f24"
"""Colour of text and axes."""
FAINT = "#8a9099"
"""Colour of grid, connecting lines and remarks."""


def colours(names: Iterable[str]) -> dict[str, str]:
    """One colour per name, in order of first appearance.

    >>> colours(["a", "b", "a"])
    {'a': '#0072B2', 'b': '#E69F00'}
    """
    return {name: _colour(number) for number, name in enumerate(dict.fromkeys(names))}


def _colour(number: int) -> str:
    """The fixed colours first, then generated ones."""
    if number < len(COLOURS):
        return COLOURS[number]
    further = number - len(COLOURS)
    shades = colorsys.hls_to_rgb((further * TURN) % 1, LIGHTNESS[further % len(LIGHTNESS)], 0.7)
    return "#" + "".join(f"{round(255 * each):02X}" for each in shades)


def application_colours(result: Result) -> dict[str, str]:
    """One colour per application, the same in every plot of this result."""
    return colours(application.name for run in result.runs for application in run.workload.applications)


def policy_styles(result: Result) -> dict[str, tuple[str, str]]:
    """(colour, marker) per policy, the same in every plot of this result."""
    shades = colours(result.policies)
    return {policy: (shades[policy], MARKERS[number % len(MARKERS)]) for number, policy in enumerate(shades)}
