# SPDX-License-Identifier: Apache-2.0
"""A policy that evicts every second launch at a given time, and resumes it once none of its blocks run."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from gpushare._core import RunningLaunch, State
from gpushare.policy import Plan, Policy

SHORTEST_PAUSE_NS = 300_000
LOOK_AGAIN_NS = 100_000


@dataclass
class Eviction:
    """Times of the eviction of one launch; -1 for steps that did not occur.

    ``evicted_ns`` and ``resumed_ns`` are the times at which ``decide`` returned the plan, ``due_ns`` is the requested
    time.
    """

    launch: int
    due_ns: int
    evicted_ns: int = -1
    resumed_ns: int = -1


class Evicting(Policy):
    """Evicts launches with an even number once; the others run undisturbed, for comparison.

    Args:
        delays_ns: times from the arrival of a launch to its eviction, in their order.
    """

    name = "evicting"

    def __init__(self, delays_ns: Sequence[int]) -> None:
        self._delays_ns = list(delays_ns)
        self._launches = 0
        self._current: Eviction | None = None
        self._last_id = -1
        self.evictions: list[Eviction] = []

    def __deepcopy__(self, memo: object) -> Evicting:
        """The run uses this object itself, since its data is read after the run."""
        return self

    def decide(self, state: State) -> Plan:
        """Called when a launch arrives or ends, and at the requested times."""
        (launch,) = state.running
        if launch.id != self._last_id:
            return self._begin(launch, state.now_ns)
        current = self._current
        if current is None or current.resumed_ns >= 0:
            return Plan({launch: launch.max_residency})
        if current.evicted_ns < 0:
            return self._evict(current, state.now_ns)
        if launch.started > launch.done:
            return Plan({}, state.now_ns + LOOK_AGAIN_NS)
        plan = Plan({launch: launch.max_residency})
        current.resumed_ns = time.monotonic_ns()
        return plan

    def _begin(self, launch: RunningLaunch, now_ns: int) -> Plan:
        self._last_id = launch.id
        self._launches += 1
        self._current = None
        if self._launches % 2 == 0 or not self._delays_ns:
            return Plan({launch: launch.max_residency})
        due_ns = now_ns + self._delays_ns.pop(0)
        self._current = Eviction(launch.id, due_ns)
        self.evictions.append(self._current)
        return Plan({launch: launch.max_residency}, due_ns)

    def _evict(self, current: Eviction, now_ns: int) -> Plan:
        plan = Plan({}, now_ns + SHORTEST_PAUSE_NS)
        current.evicted_ns = time.monotonic_ns()
        return plan

    def settle(self, began_ns: int) -> list[Eviction]:
        """Converts the evictions to the GPU's clock, after a run that began at this time of ``time.monotonic_ns``."""
        for eviction in self.evictions:
            for moment in ("evicted_ns", "resumed_ns"):
                if getattr(eviction, moment) >= 0:
                    setattr(eviction, moment, getattr(eviction, moment) - began_ns)
        return self.evictions
