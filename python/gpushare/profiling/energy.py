# SPDX-License-Identifier: Apache-2.0
"""Energy of a launch, as a mean over many."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from gpushare.backends.cuda.energy_meter import EnergyMeter, EnergyUnknownError
from gpushare.profile.record import Energy

LOOK_NS = 2_000_000
"""Reading takes tens of microseconds, and the board seldom updates its counter."""
PATIENCE_NS = 2_000_000_000


@dataclass(frozen=True)
class Share:
    """Energy and time of one of many equal pieces of work."""

    millijoules: float
    ns: float
    pieces: int


def energy_of(meter: EnergyMeter, launch: Callable[[], int], restore: Callable[[], None], least_ns: int) -> Energy:
    """Energy of one launch.

    Args:
        meter: the board's meter.
        launch: runs it once and returns its duration in nanoseconds.
        restore: restores the data.
        least_ns: least time over which energy is added up.
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
    """Repeats the work, and divides the growth of the counter between two updates by the number of repeats.

    The board updates its counter in steps: its value is exact at an update, and late between updates.
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
    raise EnergyUnknownError("the board's counter does not change")
