# SPDX-License-Identifier: Apache-2.0
"""Whether a launch is to run on all devices of its session: ``spread="auto"``."""

from __future__ import annotations

import statistics
import threading
from collections import deque
from enum import Enum
from typing import TYPE_CHECKING, Literal

from gpushare.arguments.launch_geometry import block_of, grid_of
from gpushare.model.launch_shapes import LaunchShapes
from gpushare.session.devices_in_use import Devices, DevicesInUse

if TYPE_CHECKING:
    from gpushare import _core
    from gpushare.session.spread import SpreadLaunch
    from gpushare.session.submission_forms import Launched

WhereSpread = Devices | Literal["auto"]
LEAST_NS = 1_000_000
"""A launch that takes less on one device is not tried on several, where each part of it is a launch of its own."""
LEAST_GAIN = 1.05
REMEMBERED = 5
"""Times of launches on one device, and on all: the medians are compared."""
MEASURED_EVERY = 64
"""Launches on all devices, after which one on one device is measured again."""
FIRST_PAUSE, LONGEST_PAUSE = 64, 4096
"""Launches on one device after a short one, a trial in vain or a refusal; after each further one twice as many."""
MOST_PENDING = 16


class Way(Enum):
    """How a launch is submitted."""

    ORDINARY = "ordinary"
    MEASURED = "measured"
    """On one device, as a launch on several: its time is known."""
    SPREAD = "spread"


class SpreadChoice:
    """Of launches of one shape, by how long they took: on one device first, then once on all, then what is faster.

    A launch on all devices leaves those out that have other work at its turn; where it leaves all others out, its time
    is one on one device. For any thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_refused = False  # the kernel, its arguments or the devices did not suit a launch on several
        self._alone: deque[int] = deque(maxlen=REMEMBERED)
        self._spread: deque[int] = deque(maxlen=REMEMBERED)
        self._pending: deque[tuple[_core.SpreadJob, int]] = deque(maxlen=MOST_PENDING)
        self._since_trial = 0
        self._pause = FIRST_PAUSE

    def next(self) -> Way:
        """The way of the next launch. While the first of a way is under way, others are ordinary."""
        with self._lock:
            self._collect()
            return self._next()

    def _next(self) -> Way:
        if self._is_refused:
            if not self._is_pause_over():
                return Way.ORDINARY
            self._is_refused = False
        if not self._alone:
            return Way.ORDINARY if self._pending else Way.MEASURED
        if statistics.median(self._alone) < LEAST_NS:
            return self._measure_later()
        if not self._spread:
            self._since_trial = 0
            return Way.ORDINARY if self._pending else Way.SPREAD
        if self._gains():
            self._since_trial += 1
            return Way.MEASURED if self._since_trial % MEASURED_EVERY == 0 else Way.SPREAD
        return self._measure_later()

    def _measure_later(self) -> Way:
        """After a pause on one device first: later launches may take another time, with other arguments."""
        if not self._is_pause_over():
            return Way.ORDINARY
        for each in (self._alone, self._spread, self._pending):
            each.clear()
        return Way.MEASURED

    def devices(self, launch: SpreadLaunch, in_use: DevicesInUse) -> list[int]:
        """Those of a launch on several, which is ready for them then; none: it is to be an ordinary one."""
        home, numbers = launch.home.number, in_use.numbers
        way = self.next() if home in numbers and len(numbers) > 1 else Way.ORDINARY
        if way is Way.ORDINARY:
            return []
        able = launch.able([home] if way is Way.MEASURED else numbers)
        if home in able and len(able) >= (1 if way is Way.MEASURED else 2):
            return able
        self.refuse()
        return []

    def refuse(self) -> None:
        """A launch could not be spread: the next ones are ordinary."""
        with self._lock:
            self._is_refused, self._since_trial = True, 0

    def watch(self, job: _core.SpreadJob, count: int) -> None:
        """A launch was submitted to so many devices."""
        with self._lock:
            self._pending.append((job, count))

    def _gains(self) -> bool:
        return statistics.median(self._alone) >= LEAST_GAIN * statistics.median(self._spread)

    def _is_pause_over(self) -> bool:
        self._since_trial += 1
        if self._since_trial <= self._pause:
            return False
        self._since_trial, self._pause = 0, min(2 * self._pause, LONGEST_PAUSE)
        return True

    def _collect(self) -> None:
        """Takes the times of the launches that have ended; those that failed have none."""
        for job, count in [*self._pending]:
            if not job.has_ended():
                continue
            self._pending.remove((job, count))
            took_ns, used = job.took_ns(), len(job.devices())
            if took_ns is None:
                continue
            if used == 1:
                self._alone.append(took_ns)
            elif used == count:
                self._spread.append(took_ns)


class SpreadChoices:
    """The choices of a session, by kernel, grid, block and dynamic shared memory; the latest ones are kept."""

    def __init__(self) -> None:
        self._known = LaunchShapes(lambda *_: SpreadChoice())

    def of(self, launch: Launched) -> SpreadChoice:
        """That of launches like this one, on a GPU.

        Raises:
            InvalidInput: the grid or the block is not valid.
        """
        kernel, grid, block, _, shared_bytes = launch
        return self._known.of(kernel, grid_of("submit: grid", grid), block_of("submit: block", block), shared_bytes)
