# SPDX-License-Identifier: Apache-2.0
"""Places labels without overlap among themselves and with points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpushare.plots.axes import figure_of
from gpushare.plots.palette import FAINT, INK
from gpushare.results.words import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Box = tuple[float, float, float, float]
FONT_POINTS = 9.0
WIDTH_PER_LETTER = 0.60
"""Width of a character relative to the font size: an upper estimate for DejaVu Sans, which saves a rendering pass."""
DIRECTIONS = [(1, 0), (0, 1), (0, -1), (-1, 0), (1, 1), (1, -1), (-1, 1), (-1, -1)]
DISTANCES = [9, 17, 27, 40, 55, 72, 90]


def label_points(ax: Axes, xs: Sequence[float], ys: Sequence[float], labels: Sequence[str]) -> list[Box]:
    """Writes each label at the nearest free place beside its point; returns their boxes in points."""
    figure_of(ax).draw_without_rendering()  # the layout determines the points' positions
    points_per_pixel = 72 / ax.figure.dpi
    centres = ax.transData.transform(list(zip(xs, ys, strict=True))) * points_per_pixel
    window = ax.get_window_extent()
    frame = tuple(value * points_per_pixel for value in (window.x0, window.y0, window.x1, window.y1))
    taken: list[Box] = [(x - 5, y - 5, x + 5, y + 5) for x, y in centres]
    placed: list[Box] = []
    for (x, y), data, label in zip(centres, zip(xs, ys, strict=True), labels, strict=True):
        box = min(_candidates(x, y, label), key=lambda each: _cost(each, x, y, taken, frame))
        taken.append(box)
        placed.append(box)
        _write(ax, data, label, (box[0] - x, (box[1] + box[3]) / 2 - y), box, (x, y))
    return placed


def _candidates(x: float, y: float, label: str) -> list[Box]:
    width, height = WIDTH_PER_LETTER * FONT_POINTS * len(label), 1.25 * FONT_POINTS
    boxes = []
    for distance in DISTANCES:
        for right, up in DIRECTIONS:
            left = x + right * distance - (0 if right > 0 else width if right < 0 else width / 2)
            bottom = y + up * (distance + height / 2) - height / 2
            boxes.append((left, bottom, left + width, bottom + height))
    return boxes


def _cost(box: Box, x: float, y: float, taken: list[Box], frame: Box) -> float:
    """The cost of a place: overlap counts most, then leaving the frame, then the distance to the point."""
    leaving = (frame[0] - box[0], frame[1] - box[1], box[2] - frame[2], box[3] - frame[3])
    outside = sum(max(0.0, each) for each in leaving)
    away = max(0.0, box[0] - x, x - box[2]) + max(0.0, box[1] - y, y - box[3])
    return 1_000 * sum(overlap(box, other) for other in taken) + 500 * outside + away


def overlap(one: Box, other: Box) -> float:
    """The area that two boxes share."""
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    return max(0.0, width) * max(0.0, height)


def _write(
    ax: Axes,
    data: tuple[float, float],
    label: str,
    offset: tuple[float, float],
    box: Box,
    centre: tuple[float, float],
) -> None:
    gap = max(box[0] - centre[0], centre[0] - box[2], box[1] - centre[1], centre[1] - box[3])
    line = {"arrowstyle": "-", "color": FAINT, "linewidth": 0.6, "shrinkB": 3} if gap > 12 else None
    ax.annotate(
        plain(label), data, xytext=offset, textcoords="offset points", arrowprops=line, annotation_clip=False,
        ha="left", va="center", fontsize=FONT_POINTS, color=INK,
    )  # fmt: skip


def spread_apart(positions: Sequence[float], gap: float, low: float = -math.inf, high: float = math.inf) -> list[float]:
    """Moves positions on a line as little as needed to be ``gap`` apart between two limits, keeping their order.

    >>> spread_apart([0.0, 0.0, 5.0], 1.0)
    [-0.5, 0.5, 5.0]
    """
    order = sorted(range(len(positions)), key=lambda number: positions[number])
    groups: list[tuple[float, int]] = []  # (centre, members): members sit gap apart around the centre
    for number in order:
        groups.append((positions[number], 1))
        while len(groups) > 1 and groups[-1][0] - groups[-2][0] < gap * (groups[-1][1] + groups[-2][1]) / 2:
            centre, members = groups.pop()
            before, more = groups.pop()
            middle = (before * more + centre * members) / (more + members)
            half = gap * (more + members - 1) / 2
            groups.append((min(max(middle, low + half), high - half), more + members))
    spread = [centre + gap * (place - (members - 1) / 2) for centre, members in groups for place in range(members)]
    result = [0.0] * len(positions)
    for number, place in zip(order, spread, strict=True):
        result[number] = place
    return result
