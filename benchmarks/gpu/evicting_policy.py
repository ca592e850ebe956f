# SPDX-License-Identifier: Apache-2.0
"""A policy that evicts every second launch at a moment of its own, and lets it come back once nothing of it runs."""

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
    """What the policy did to one launch, by the GPU's clock; -1 where it has not come to that.

    ``evicted_ns`` is when ``decide`` returned the plan, ``due_ns`` when the policy wanted to be asked.
    """

    launch: int
    due_ns: int
    evicted_ns: int = -1
    resumed_ns: int = -1


class Evicting(Policy):
    """Launches with an odd count are left alone, for comparison; the others are evicted once.

    Args:
        delays_ns: from the arrival of a launch to its eviction, one after the other.
    """

    name = "evicting"

    def __init__(self, delays_ns: Sequence[int]) -> None:
        self._delays_ns = list(delays_ns)
        self._launches = 0
        self._current: Eviction | None = None
        self._last_id = -1
        self._offset_ns: int | None = None
        self._by_clock: list[tuple[Eviction, str, int]] = []
        self.evictions: list[Eviction] = []

    def __deepcopy__(self, memo: object) -> Evicting:
        """What it has seen is read after the run, so the run gets this very object."""
        return self

    def decide(self, state: State) -> Plan:
        """Asked when a launch arrives or ends, and at the times it asked for."""
        self._learn_clock(state.now_ns)
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
        self._note(current, "resumed_ns")
        return Plan({launch: launch.max_residency})

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
        self._note(current, "evicted_ns")
        return Plan({}, now_ns + SHORTEST_PAUSE_NS)

    def _note(self, current: Eviction, what: str) -> None:
        now_ns = time.monotonic_ns()
        setattr(current, what, now_ns)
        self._by_clock.append((current, what, now_ns))

    def _learn_clock(self, now_ns: int) -> None:
        """The smallest difference is the nearest to the true one: an event is never seen before it has happened."""
        offset_ns = time.monotonic_ns() - now_ns
        self._offset_ns = offset_ns if self._offset_ns is None else min(self._offset_ns, offset_ns)

    def settle(self) -> list[Eviction]:
        """After the run: the evictions, their times by the GPU's clock."""
        for eviction, what, clock_ns in self._by_clock:
            setattr(eviction, what, clock_ns - (self._offset_ns or 0))
        self._by_clock.clear()
        return self.evictions
