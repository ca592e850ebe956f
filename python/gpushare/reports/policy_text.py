# SPDX-License-Identifier: Apache-2.0
"""Texts about policies for tables and reports."""

from __future__ import annotations

from collections.abc import Collection

from gpushare import _core
from gpushare.backends.baselines import BASELINES, is_baseline

ORDINARY = ("hardware-streams", "fifo")
"""Baselines of comparisons: scheduling by a GPU alone, and the closest policies on a simulated device."""


def built_in(policy: str) -> _core.PolicyEntry | None:
    """The built-in policy of this name, with or without options and an ordering; None for any other.

    >>> built_in("srtf"), built_in("cumas:window=3+srtf"), built_in("my own")
    (<PolicyEntry srtf>, <PolicyEntry srtf>, None)
    """
    before, plus, name = policy.rpartition("+")
    if plus and _ordering(before) is None:
        return None
    return next((entry for entry in _core.policies() if entry.name == name.partition(":")[0]), None)


def _ordering(text: str) -> _core.OrderingEntry | None:
    return next((entry for entry in _core.orderings() if entry.name == text.partition(":")[0]), None)


def summary(policy: str) -> str | None:
    """A one-line description of a built-in policy or a baseline; None for a user's policy.

    >>> summary("green-contexts:40,92")
    'a static partition of the SMs, in equal parts unless sized: green-contexts:40,92'
    >>> summary("strings+fifo")
    'whole tasks in order of arrival, phases overlapped; order of arrival, as the hardware does it'
    """
    if is_baseline(policy):
        return BASELINES[policy.partition(":")[0]]
    return "; ".join(entry.summary for entry in _entries(policy)) or None


def described(policy: str) -> str:
    """As :func:`summary`, with the source."""
    if is_baseline(policy):
        return f"without gpushare: {summary(policy)}"
    return "; ".join(f"{entry.summary} ({entry.source})" for entry in _entries(policy)) or "your own policy"


def _entries(policy: str) -> list[_core.OrderingEntry | _core.PolicyEntry]:
    """The ordering, if there is one, and the policy; none for a user's policy."""
    entry, ordering = built_in(policy), _ordering(policy.rpartition("+")[0])
    return [each for each in (ordering, entry) if each] if entry else []


def ordinary(policies: Collection[str]) -> str | None:
    """The baseline of a comparison, if one is among these policies.

    >>> ordinary(["srtf", "fifo"])
    'fifo'
    """
    return next((policy for policy in ORDINARY if policy in policies), None)
