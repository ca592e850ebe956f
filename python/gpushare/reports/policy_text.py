# SPDX-License-Identifier: Apache-2.0
"""What tables and reports say of a policy."""

from __future__ import annotations

from collections.abc import Collection

from gpushare import _core
from gpushare.backends.baselines import BASELINES, is_baseline

ORDINARY = ("hardware-streams", "fifo")
"""What a GPU does by itself, and what comes closest to it on a simulated one: others are compared with that."""


def built_in(policy: str) -> _core.PolicyEntry | None:
    """The built-in policy of this name, whatever options stand behind it; None for any other.

    >>> built_in("srtf"), built_in("my own")
    (<PolicyEntry srtf>, None)
    """
    name = policy.partition(":")[0]
    return next((entry for entry in _core.policies() if entry.name == name), None)


def summary(policy: str) -> str | None:
    """In one line what a built-in policy, or the hardware by itself, does; None for a policy of somebody's own.

    >>> summary("green-contexts:40,92")
    'a static partition of the SMs, in equal parts unless sized: green-contexts:40,92'
    """
    if is_baseline(policy):
        return BASELINES[policy.partition(":")[0]]
    entry = built_in(policy)
    return entry.summary if entry else None


def described(policy: str) -> str:
    """As :func:`summary`, and where it is from."""
    if is_baseline(policy):
        return f"without gpushare: {summary(policy)}"
    entry = built_in(policy)
    return f"{entry.summary} ({entry.source})" if entry else "your own policy"


def ordinary(policies: Collection[str]) -> str | None:
    """The policy to compare the others with, if one of those ran.

    >>> ordinary(["srtf", "fifo"])
    'fifo'
    """
    return next((policy for policy in ORDINARY if policy in policies), None)
