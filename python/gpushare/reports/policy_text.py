# SPDX-License-Identifier: Apache-2.0
"""Texts about policies for tables and reports."""

from __future__ import annotations

from collections.abc import Collection

from gpushare import _core
from gpushare.backends.baselines import BASELINES, is_baseline

ORDINARY = ("hardware-streams", "fifo")
"""Baselines of comparisons: scheduling by a GPU alone, and the closest policies on a simulated device."""


def built_in(policy: str) -> _core.PolicyEntry | None:
    """The built-in policy of this name, with or without options; None for any other.

    >>> built_in("srtf"), built_in("my own")
    (<PolicyEntry srtf>, None)
    """
    name = policy.partition(":")[0]
    return next((entry for entry in _core.policies() if entry.name == name), None)


def summary(policy: str) -> str | None:
    """A one-line description of a built-in policy or a baseline; None for a user's policy.

    >>> summary("green-contexts:40,92")
    'a static partition of the SMs, in equal parts unless sized: green-contexts:40,92'
    """
    if is_baseline(policy):
        return BASELINES[policy.partition(":")[0]]
    entry = built_in(policy)
    return entry.summary if entry else None


def described(policy: str) -> str:
    """As :func:`summary`, with the source."""
    if is_baseline(policy):
        return f"without gpushare: {summary(policy)}"
    entry = built_in(policy)
    return f"{entry.summary} ({entry.source})" if entry else "your own policy"


def ordinary(policies: Collection[str]) -> str | None:
    """The baseline of a comparison, if one is among these policies.

    >>> ordinary(["srtf", "fifo"])
    'fifo'
    """
    return next((policy for policy in ORDINARY if policy in policies), None)
