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
    """What the policy did to one launch; -1 where it has not come to that.

    ``evicted_ns`` and ``resumed_ns`` are when ``decide`` returned the plan, ``due_ns`` is when the policy wanted to be
    asked.
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
        self.evictions: list[Eviction] = []

    def __deepcopy__(self, memo: object) -> Evicting:
        """What it has seen is read after the run, so the run gets this very object."""
        return self

    def decide(self, state: State) -> Plan:
        """Asked when a launch arrives or ends, and at the times it asked for."""
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
        """After the run, which began at this time by ``time.monotonic_ns``: the evictions, by the GPU's clock."""
        for eviction in self.evictions:
            for moment in ("evicted_ns", "resumed_ns"):
                if getattr(eviction, moment) >= 0:
                    setattr(eviction, moment, getattr(eviction, moment) - began_ns)
        return self.evictions
