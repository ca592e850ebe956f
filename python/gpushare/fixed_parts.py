# SPDX-License-Identifier: Apache-2.0
"""A policy with a fixed set of SMs and a limit of residency per application."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpushare._core import RunningLaunch, State
from gpushare.policy import Plan, Policy


@dataclass(frozen=True)
class Part:
    """A range of SMs.

    Attributes:
        first: number of the first SM.
        sms: number of SMs.
        residency: largest number of blocks on each; None for maximum residency.
    """

    first: int
    sms: int
    residency: int | None = None

    def quota(self, launch: RunningLaunch, all_sms: int) -> list[int]:
        """The quota per SM."""
        most = launch.max_residency if self.residency is None else min(self.residency, launch.max_residency)
        return [0] * self.first + [most] * self.sms + [0] * (all_sms - self.first - self.sms)


class FixedParts(Policy):
    """A fixed partition of the GPU by application.

    Args:
        words: the name in tables.
        parts: parts by the application's name.
    """

    def __init__(self, words: str, parts: Mapping[str, Part]) -> None:
        self._words = words
        self._parts = dict(parts)

    @property
    def name(self) -> str:
        """The name in tables."""
        return self._words

    def decide(self, state: State) -> Plan:
        """Gives every running application its part."""
        sms = state.device.sms
        return Plan({launch: self._parts[launch.application].quota(launch, sms) for launch in state.running})
