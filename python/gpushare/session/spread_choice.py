# SPDX-License-Identifier: Apache-2.0
"""Whether a launch is to run on all devices of its session: ``spread="auto"``."""

from __future__ import annotations

import statistics
from collections import deque
from collections.abc import Hashable
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from gpushare.session.devices_in_use import Devices, DevicesInUse

if TYPE_CHECKING:
    from gpushare import _core
    from gpushare.session.spread import SpreadLaunch
    from gpushare.session.submission_forms import Launched

WhereSpread = Devices | Literal["auto"]
LEAST_NS = 1_000_000
"""A launch that takes less on one device never pays for the submissions to others."""
LEAST_GAIN = 1.05
REMEMBERED = 5
"""Times of launches on one device, and on all: the medians are compared."""
MEASURED_EVERY = 64
"""Launches on all devices, after which one on one device is measured again."""
FIRST_PAUSE, LONGEST_PAUSE = 64, 4096
"""Launches on one device after a trial in vain; after each further one twice as many."""
MOST_PENDING = 16
MOST_SHAPES = 1024


class Way(Enum):
    """How a launch is submitted."""

    ORDINARY = "ordinary"
    MEASURED = "measured"
    """On one device, as a launch on several: its time is known."""
    SPREAD = "spread"


class SpreadChoice:
    """Of launches of one shape, by how long they took: on one device first, then once on all, then what is faster.

    A launch on all devices leaves those out that have other work at its turn, and tells of one device then.

    Attributes:
        is_refused: the kernel, its arguments or the devices do not suit a launch on several.
    """

    def __init__(self) -> None:
        self.is_refused = False
        self._alone: deque[int] = deque(maxlen=REMEMBERED)
        self._spread: deque[int] = deque(maxlen=REMEMBERED)
        self._pending: deque[tuple[_core.SpreadJob, int]] = deque(maxlen=MOST_PENDING)
        self._since_trial = 0
        self._pause = FIRST_PAUSE

    def next(self) -> Way:
        """The way of the next launch. While the first of a way is under way, others are ordinary."""
        self._collect()
        if self.is_refused:
            return Way.ORDINARY
        if not self._alone:
            return Way.ORDINARY if self._pending else Way.MEASURED
        if statistics.median(self._alone) < LEAST_NS:
            return Way.ORDINARY
        if not self._spread and self._pending:
            return Way.ORDINARY
        self._since_trial += 1
        if not self._spread:
            self._since_trial = 0
            return Way.SPREAD
        if self._gains():
            return Way.MEASURED if self._since_trial % MEASURED_EVERY == 0 else Way.SPREAD
        if self._since_trial <= self._pause:
            return Way.ORDINARY
        self._since_trial, self._pause = 0, min(2 * self._pause, LONGEST_PAUSE)
        self._spread.clear()
        return Way.SPREAD

    def devices(self, launch: SpreadLaunch, in_use: DevicesInUse) -> list[int]:
        """Those of a launch on several, which is ready for them then; none: it is to be an ordinary one."""
        home = launch.home.number
        way = self.next() if home in in_use else Way.ORDINARY
        if way is Way.ORDINARY:
            return []
        able = launch.able([home] if way is Way.MEASURED else in_use.numbers)
        self.is_refused = home not in able or len(able) < (1 if way is Way.MEASURED else 2)
        return [] if self.is_refused else able

    def watch(self, job: _core.SpreadJob, devices: int) -> None:
        """A launch was submitted to so many devices."""
        self._pending.append((job, devices))

    def _gains(self) -> bool:
        return statistics.median(self._alone) >= LEAST_GAIN * statistics.median(self._spread)

    def _collect(self) -> None:
        """The times of the launches that have ended."""
        for job, devices in [*self._pending]:
            took_ns = job.took_ns()
            if took_ns is None:
                continue
            self._pending.remove((job, devices))
            used = len(job.devices())
            if used == 1:
                self._alone.append(took_ns)
            elif used == devices:
                self._spread.append(took_ns)


class SpreadChoices:
    """The choices of a session, by kernel, grid, block and dynamic shared memory; the latest ones are kept."""

    def __init__(self) -> None:
        self._of = lru_cache(MOST_SHAPES)(lambda _: SpreadChoice())

    def of(self, launch: Launched) -> SpreadChoice:
        """That of launches like this one."""
        kernel, grid, block, _, shared_bytes = launch
        return self._of((kernel, _hashable(grid), _hashable(block), shared_bytes))


def _hashable(extent: Any) -> Hashable:
    return tuple(extent) if isinstance(extent, list) else extent
