# SPDX-License-Identifier: Apache-2.0
"""Findings of checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any


class State(StrEnum):
    """The state of a checked item."""

    GOOD = "good"
    HURTS = "hurts"
    """It works, with a problem such as lower speed."""
    MISSING = "missing"
    """It is missing, which is an error only where it is required."""
    BROKEN = "broken"
    """It is installed and does not work; or it is required and missing."""


@dataclass(frozen=True)
class Finding:
    """One line of the report.

    Attributes:
        name: the checked item.
        state: its state.
        summary: the state in a few words.
        details: the problems, a sentence each.
        fix: the command that solves them.
        needed_by_gpu: whether a real GPU needs it.
        facts: the data for programs.
    """

    name: str
    state: State
    summary: str
    details: tuple[str, ...] = ()
    fix: str | None = None
    needed_by_gpu: bool = False
    facts: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The finding for JSON."""
        return asdict(self)


def binary_size(count: float) -> str:
    """A size in a suitable unit.

    >>> binary_size(8 * 2**20)
    '8 MiB'
    """
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"
