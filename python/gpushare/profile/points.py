# SPDX-License-Identifier: Apache-2.0
"""Points of a kernel's curves for the fit: rates of the whole grid's blocks, and their weights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from statistics import median
from typing import NamedTuple

from gpushare.profile.record import KernelProfile, RateCurve

LAUNCH_NS = 12_000.0
"""Time from a trial's launch to its first block, and from its last block to the host, on an H100, in nanoseconds."""
LEAST_WAVES = 3
"""A window with fewer waves does not represent the steady state."""
MANY_WAVES = 20
"""From this number of waves on, the whole grid gives a rate as exactly as a window, and for all blocks instead of the
first."""
UNLIKE = 0.03
"""Relative difference of the first blocks from the whole grid's above which points with only first blocks weigh less.
"""
WEIGHT_OF_FIRST_BLOCKS = 0.1
LEAST_POINTS = 3
LARGEST_PART = 0.7
AGREEMENT = 0.15
LEAST_TREND = 0.1


class Row(NamedTuple):
    """One measured point; see :class:`gpushare.profile.record.RateCurve`."""

    sms: int
    residency: int
    blocks: int
    window_ns: int
    block_ns: float
    whole_ns: int

    def waves(self, blocks: int) -> float:
        """Number of waves of a grid of this size."""
        return blocks / (self.sms * self.residency)

    @property
    def steady_ns(self) -> float:
        """Time of the whole grid with all places in use: without the launch, and half a block at the end."""
        return self.whole_ns - LAUNCH_NS - self.block_ns / 2


@dataclass(frozen=True)
class Point:
    """A point for the fit.

    Attributes:
        sms: SMs in use.
        residency: blocks on each.
        blocks_per_ns: measured rate.
        weight: weight of its error.
        whole_ns: time of the whole grid, for few waves, which are simulated instead of taken as a steady state; else 0.
    """

    sms: int
    residency: int
    blocks_per_ns: float
    weight: float
    whole_ns: int = 0


def rows_of(curve: RateCurve) -> list[Row]:
    """The points of a curve's columns."""
    columns = (curve.sms, curve.residency, curve.blocks, curve.window_ns, curve.block_ns, curve.whole_ns)
    return [Row(*values) for values in zip(*columns, strict=True)]


def points_of(profile: KernelProfile, curve: RateCurve) -> list[Point]:
    """Every point of a curve with its weight; if too few have a weight, all count."""
    rows = rows_of(curve)
    first = WEIGHT_OF_FIRST_BLOCKS if _first_blocks_differ(profile, rows) else 1.0
    found = [_point(row, profile.blocks, first) for row in rows]
    if sum(each.weight > 0 for each in found) >= LEAST_POINTS:
        return found
    return [replace(each, weight=1.0) for each in found]


def _point(row: Row, blocks: int, weight_of_first: float) -> Point:
    where = (row.sms, row.residency)
    if row.whole_ns > 0 and row.waves(blocks) >= MANY_WAVES:
        return Point(*where, blocks / row.steady_ns, 1.0)
    if row.whole_ns > 0:
        return Point(*where, row.blocks / row.window_ns, 1.0, row.whole_ns)
    enough = row.blocks >= LEAST_WAVES * row.sms * row.residency
    return Point(*where, row.blocks / row.window_ns, weight_of_first if enough else 0.0)


def _first_blocks_differ(profile: KernelProfile, rows: list[Row]) -> bool:
    ratios = [
        profile.blocks * row.window_ns / row.blocks / row.steady_ns
        for row in rows
        if row.whole_ns > 0 and row.waves(profile.blocks) >= MANY_WAVES
    ]
    return bool(ratios) and abs(median(ratios) - 1) > UNLIKE


def trend_ratio(profile: KernelProfile) -> float:
    """Linear trend of the work along the grid, from windows of its first part; 0 unless at least two agree.

    >>> from types import SimpleNamespace as Profile
    >>> curve = RateCurve((1, 2, 4), (1, 1, 1), (250, 500, 1000), (3250, 3000, 2400), (9.0,) * 3, (0, 0, 14_500))
    >>> round(trend_ratio(Profile(blocks=1000, against_sms=curve)), 2)
    0.4
    """
    rows = rows_of(profile.against_sms) if profile.against_sms else []
    whole = [
        row.sms * row.steady_ns for row in rows if row.whole_ns > 0 and row.waves(profile.blocks) >= MANY_WAVES
    ]  # fmt: skip
    trends = list(_trends(rows, profile.blocks, median(whole) / profile.blocks)) if whole else []
    if len(trends) < 2 or max(trends) - min(trends) > AGREEMENT or abs(median(trends)) < LEAST_TREND:
        return 0.0
    return min(max(median(trends), -1.0), 1.0)


def _trends(rows: list[Row], blocks: int, mean_ns: float) -> Iterator[float]:
    """With trend a, the blocks of the grid's first part p have a mean work of 1 + a (1 - p)."""
    for row in rows:
        part = row.blocks / blocks
        if row.whole_ns == 0 and part < LARGEST_PART:
            yield (row.sms * row.window_ns / row.blocks / mean_ns - 1) / (1 - part)
