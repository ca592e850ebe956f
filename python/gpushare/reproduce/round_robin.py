# SPDX-License-Identifier: Apache-2.0
"""What EffiSha's footnote 6 sees the K40m do by itself: every so often another tenant has the whole GPU."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from gpushare.policy import Plan, Policy

if TYPE_CHECKING:
    from gpushare._core import State


class RoundRobin(Policy):
    """One application at a time, each for a quantum, in order of first arrival.

    Args:
        quantum_ms: how long an application has the GPU before the next one is chosen.
    """

    def __init__(self, quantum_ms: float) -> None:
        self._quantum_ms = quantum_ms
        self._order: list[str] = []
        self._until_ns = 0
        self._left_ns: int | None = None

    @property
    def name(self) -> str:
        """With its quantum."""
        return f"round robin {self._quantum_ms:g} ms"

    def decide(self, state: State) -> Plan:
        """The first in the queue, which goes to its end when its quantum is over or it has left."""
        running = {launch.application: launch for launch in state.running}
        self._order += [each for each in running if each not in self._order]
        if state.now_ns >= self._until_ns or self._has_left(running, state.now_ns):
            self._left_ns = None
            self._until_ns = state.now_ns + round(self._quantum_ms * 1e6)
            self._order.append(self._order.pop(0))
            while self._order[0] not in running:
                self._order.append(self._order.pop(0))
        current = self._order[0]
        if current not in running:  # its next launch may arrive at this very time: look again right after it
            return Plan(wake_at_ns=state.now_ns + 1)
        return Plan({running[current]: state.full_quota(running[current])}, wake_at_ns=self._until_ns)

    def _has_left(self, running: Collection[str], now_ns: int) -> bool:
        if self._order[0] in running:
            self._left_ns = None
        elif self._left_ns is None:
            self._left_ns = now_ns
        return self._left_ns is not None and now_ns > self._left_ns
