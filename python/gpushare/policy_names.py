# SPDX-License-Identifier: Apache-2.0
"""Names for policies of a comparison that have the same one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpushare.policy import Policy, policy_name

LONGEST_VALUE = 40


def with_distinct_names(policies: Sequence[str | Policy]) -> list[str | Policy]:
    """The policies, where those that are named after their class, like others, have what tells them apart in the name.

    >>> class Patient(Policy):
    ...     def __init__(self, rounds): self.rounds = rounds
    >>> [each.name for each in with_distinct_names([Patient(1), Patient(2)])]
    ['Patient(rounds=1)', 'Patient(rounds=2)']
    >>> [each.name for each in with_distinct_names([Patient(1), Patient(1)])]
    ['Patient (1)', 'Patient (2)']
    """
    groups: dict[str, list[int]] = {}
    for place, policy in enumerate(policies):
        if isinstance(policy, Policy) and policy.has_default_name:
            groups.setdefault(policy_name(policy), []).append(place)
    named = list(policies)
    for name, places in groups.items():
        alike = [each for place in places if isinstance(each := policies[place], Policy)]
        if len(alike) > 1:
            for place, policy, words in zip(places, alike, _differences(alike), strict=True):
                named[place] = policy.named(f"{name}{words}")
    return named


def _text(value: Any) -> str:
    """As ``repr``, with the elements of a set in one order: that of ``repr`` is another one in every process."""
    if isinstance(value, set | frozenset) and value:
        text = f"{{{', '.join(sorted(map(repr, value)))}}}"
        return text if isinstance(value, set) else f"frozenset({text})"
    return repr(value)


def _differences(policies: Sequence[Policy]) -> list[str]:
    """What tells the policies apart: the attributes that differ, or numbers where these do not do it."""
    values = [{key: _text(value) for key, value in vars(policy).items()} for policy in policies]
    keys = dict.fromkeys(key for each in values for key in each)
    differing = [key for key in keys if len({each.get(key) for each in values}) > 1]
    words = [", ".join(f"{key}={each[key]}" for key in differing if key in each) for each in values]
    # An object whose text is its address would have another name in the next process.
    are_names = all(each.isprintable() and len(each) <= LONGEST_VALUE and " at 0x" not in each for each in words)
    if len(set(words)) < len(words) or not are_names:
        return [f" ({number})" for number in range(1, len(policies) + 1)]
    return [f"({each})" for each in words]
