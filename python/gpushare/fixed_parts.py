# SPDX-License-Identifier: Apache-2.0
"""A policy that gives every application SMs of its own, and holds them at most so full."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpushare._core import RunningLaunch, State
from gpushare.policy import Plan, Policy


@dataclass(frozen=True)
class Part:
    """Some neighbouring SMs.

    Attributes:
        first: the first of them, by number.
        sms: how many.
        residency: blocks on each at most; None for as many as fit.
    """

    first: int
    sms: int
    residency: int | None = None

    def quota(self, launch: RunningLaunch, all_sms: int) -> list[int]:
        """Per SM."""
        most = launch.max_residency if self.residency is None else min(self.residency, launch.max_residency)
        return [0] * self.first + [most] * self.sms + [0] * (all_sms - self.first - self.sms)


class FixedParts(Policy):
    """The same parts of the GPU throughout, by application.

    Args:
        words: for tables.
        parts: by the application's name.
    """

    def __init__(self, words: str, parts: Mapping[str, Part]) -> None:
        self._words = words
        self._parts = dict(parts)

    @property
    def name(self) -> str:
        """In tables."""
        return self._words

    def decide(self, state: State) -> Plan:
        """Whoever runs gets what is his."""
        sms = state.device.sms
        return Plan({launch: self._parts[launch.application].quota(launch, sms) for launch in state.running})
