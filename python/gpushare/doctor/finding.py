# SPDX-License-Identifier: Apache-2.0
"""What a check says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any


class State(StrEnum):
    """How the thing that was checked is."""

    GOOD = "good"
    HURTS = "hurts"
    """It works, but slows things down or disturbs them."""
    MISSING = "missing"
    """It is not there, which is an error only where it is needed."""
    BROKEN = "broken"
    """It is there, but does not work; or it is needed and missing."""


@dataclass(frozen=True)
class Finding:
    """One line of the report.

    Attributes:
        name: what was checked.
        state: how it is.
        summary: that in a few words.
        details: what is wrong, a sentence each.
        fix: the command that helps.
        needed_by_gpu: without it no real GPU can be used.
        facts: the same for programs.
    """

    name: str
    state: State
    summary: str
    details: tuple[str, ...] = ()
    fix: str | None = None
    needed_by_gpu: bool = False
    facts: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def binary_size(count: float) -> str:
    """Bytes in the unit that fits.

    >>> binary_size(8 * 2**20)
    '8 MiB'
    """
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"
