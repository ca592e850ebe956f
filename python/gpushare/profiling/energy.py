# SPDX-License-Identifier: Apache-2.0
"""The energy of a launch: what many of them took, divided among them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from gpushare.backends.cuda.energy_meter import EnergyMeter, EnergyUnknownError
from gpushare.profile.record import Energy

LOOK_NS = 2_000_000
"""Asking takes tens of microseconds, and the board seldom brings its counter up to date."""
PATIENCE_NS = 2_000_000_000


@dataclass(frozen=True)
class Share:
    """What one of many equal pieces of work took."""

    millijoules: float
    ns: float
    pieces: int


def energy_of(meter: EnergyMeter, launch: Callable[[], int], restore: Callable[[], None], least_ns: int) -> Energy:
    """Of one launch.

    Args:
        meter: of the board.
        launch: runs it once and returns how long it took, in nanoseconds.
        restore: puts the data back.
        least_ns: for how long energy is added up.
    """
    took_ns: list[int] = []

    def both() -> None:
        restore()
        took_ns.append(launch())

    with_launch = per_piece(meter.millijoules, both, least_ns)
    without = per_piece(meter.millijoules, restore, least_ns)
    joules = max(0.0, with_launch.millijoules - without.millijoules) / 1e3
    mean_ns = sum(took_ns) / len(took_ns)
    return Energy(joules=joules, watts=joules / mean_ns * 1e9, launches=with_launch.pieces)


def per_piece(
    millijoules: Callable[[], int],
    work: Callable[[], None],
    least_ns: int,
    clock_ns: Callable[[], int] = time.monotonic_ns,
) -> Share:
    """Repeats the work, and divides what the counter grew by between two of its updates by what was done meanwhile.

    The counter is brought up to date in steps of its own: from step to step it is exact, between them it lags.
    """
    start_ns = asked_ns = clock_ns()
    known, pieces = millijoules(), 0
    begin: tuple[int, int, int] | None = None
    while clock_ns() - start_ns < least_ns + PATIENCE_NS:
        work()
        pieces += 1
        now_ns = clock_ns()
        if now_ns - asked_ns < LOOK_NS:
            continue
        asked_ns = now_ns
        reading = millijoules()
        if reading == known:
            continue
        known = reading
        if begin is None:
            begin = (reading, now_ns, pieces)
        elif now_ns - begin[1] >= least_ns:
            done = pieces - begin[2]
            return Share((reading - begin[0]) / done, (now_ns - begin[1]) / done, done)
    raise EnergyUnknownError("the board's counter stands still")
