# SPDX-License-Identifier: Apache-2.0
"""Environment variables that CUDA heeds and that get in the way."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gpushare.doctor.finding import Finding, State

TITLE = "CUDA settings"
CONNECTIONS = 32
"""Hardware queues that gpushare asks for: streams that share one wait for each other."""


@dataclass(frozen=True)
class Rule:
    """A variable, which of its values get in the way, and how."""

    name: str
    hurts: Callable[[str], bool]
    consequence: str


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _is_on(text: str) -> bool:
    return _number(text) not in (None, 0)


def _below(limit: int) -> Callable[[str], bool]:
    return lambda text: (_number(text) or 0) < limit


RULES = (
    Rule("CUDA_LAUNCH_BLOCKING", _is_on, "a launch waits for its kernel, so that no two kernels run together"),
    Rule(
        "CUDA_DEVICE_MAX_CONNECTIONS",
        _below(CONNECTIONS),
        f"streams share hardware queues and wait for each other; left alone, gpushare sets it to {CONNECTIONS}",
    ),
    Rule("CUDA_VISIBLE_DEVICES", lambda text: text.strip() in ("", "-1", "NoDevFiles"), "every GPU is hidden"),
    Rule("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", _below(100), "under MPS, kernels get a part of the SMs only"),
    Rule("CUDA_FORCE_PTX_JIT", _is_on, "kernels do not load: gpushare hands over machine code, and no PTX"),
)


def check(environment: Mapping[str, str] = os.environ) -> list[Finding]:
    """A finding per variable that gets in the way; else one that says which are set."""
    found = [_finding(rule, environment[rule.name]) for rule in RULES if _applies(rule, environment)]
    if found:
        return found
    chosen = {rule.name: environment[rule.name] for rule in RULES if rule.name in environment}
    words = ", ".join(f"{name}={value}" for name, value in chosen.items()) or "none that gets in the way"
    return [Finding(TITLE, State.GOOD, words, facts=chosen)]


def _applies(rule: Rule, environment: Mapping[str, str]) -> bool:
    return rule.name in environment and rule.hurts(environment[rule.name])


def _finding(rule: Rule, value: str) -> Finding:
    consequence = f"{rule.consequence[0].upper()}{rule.consequence[1:]}."
    summary = f"{rule.name}={value}"
    return Finding(TITLE, State.HURTS, summary, (consequence,), f"unset {rule.name}", facts={rule.name: value})
