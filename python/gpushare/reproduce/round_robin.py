# SPDX-License-Identifier: Apache-2.0
"""What EffiSha's footnote 6 sees the K40m do by itself: every so often another tenant has the whole GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpushare.policy import Plan, Policy

if TYPE_CHECKING:
    from gpushare._core import State


class RoundRobin(Policy):
    """One launch at a time, each for a quantum, in order of arrival.

    Args:
        quantum_ms: how long a launch has the GPU before the next one is chosen.
    """

    def __init__(self, quantum_ms: float) -> None:
        self._quantum_ms = quantum_ms
        self._order: list[int] = []
        self._until_ns = 0

    @property
    def name(self) -> str:
        """With its quantum."""
        return f"round robin {self._quantum_ms:g} ms"

    def decide(self, state: State) -> Plan:
        """The first in the queue, which goes to its end when its quantum is over."""
        running = {launch.id: launch for launch in state.running}
        first = self._order[:1]
        self._order = [each for each in self._order if each in running]
        self._order += [each for each in running if each not in self._order]
        is_over = state.now_ns >= self._until_ns
        if is_over and self._order[:1] == first:
            self._order.append(self._order.pop(0))
        if is_over or self._order[:1] != first:
            self._until_ns = state.now_ns + round(self._quantum_ms * 1e6)
        current = running[self._order[0]]
        return Plan({current: state.full_quota(current)}, wake_at_ns=self._until_ns)
