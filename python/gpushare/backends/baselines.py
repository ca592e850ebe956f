# SPDX-License-Identifier: Apache-2.0
"""What CUDA offers without gpushare, by the names under which it can be compared."""

from __future__ import annotations

from gpushare.policy import Policy, require_built_in

BASELINES = {
    "hardware-serial": "one application after the other, original kernels",
    "hardware-streams": "a stream per application, original kernels",
    "hardware-priority": "a stream per application with hardware priorities: by priority, and among equals the one "
    "that takes less time alone is more urgent",
    "green-contexts": "a static partition of the SMs, in equal parts unless sized: green-contexts:40,92",
}


def is_baseline(policy: str | Policy) -> bool:
    """Whether this names one of the ways in which the hardware shares by itself.

    >>> is_baseline("hardware-streams"), is_baseline("green-contexts:40,92"), is_baseline("srtf")
    (True, True, False)
    """
    return isinstance(policy, str) and policy.partition(":")[0] in BASELINES


def require_known_policy(name: str, also: str = "") -> None:
    """Raise InvalidInput, listing those there are and ``also``, unless this is a policy or a way of the hardware."""
    if not is_baseline(name):
        require_built_in(name, BASELINES, f"; on a GPU also {', '.join(BASELINES)}{also}")
