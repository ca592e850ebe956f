# SPDX-License-Identifier: Apache-2.0
"""Medians with their spread, and ratios of values that were measured alternately."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Spread:
    """A median, and the range of the middle eighty percent of the values.

    >>> str(Spread.of([1.0, 2.0, 3.0]))
    '2 (1.2..2.8)'
    """

    median: float
    p10: float
    p90: float
    count: int

    @staticmethod
    def of(values: Iterable[float]) -> Spread:
        """The spread of values; NaN if there is none."""
        known = [float(value) for value in values]
        if not known:
            return Spread(math.nan, math.nan, math.nan, 0)
        p10, median, p90 = np.quantile(known, [0.1, 0.5, 0.9])
        return Spread(float(median), float(p10), float(p90), len(known))

    def scaled(self, factor: float) -> Spread:
        """In another unit."""
        return Spread(self.median * factor, self.p10 * factor, self.p90 * factor, self.count)

    def __str__(self) -> str:
        return f"{self.median:.4g} ({self.p10:.4g}..{self.p90:.4g})"


def ratios(values: Sequence[float], references: Sequence[float]) -> Spread:
    """Each value over the reference that was measured next to it.

    >>> ratios([2.0, 4.0], [1.0, 2.0]).median
    2.0
    """
    return Spread.of(value / reference for value, reference in zip(values, references, strict=True))


def geomean(values: Iterable[float]) -> float:
    """The geometric mean.

    >>> geomean([1.0, 4.0])
    2.0
    """
    known = [math.log(value) for value in values]
    return math.exp(sum(known) / len(known)) if known else math.nan


def geomeans(series: Iterable[Sequence[float]]) -> Spread:
    """The geometric mean over several series of ratios, repeat by repeat."""
    return Spread.of(geomean(values) for values in zip(*series, strict=False))


def percentile(values: Sequence[float], percent: float) -> float:
    """A percentile; NaN without values."""
    return float(np.percentile(values, percent)) if len(values) else math.nan
