# SPDX-License-Identifier: Apache-2.0
"""Environment variables of CUDA or gpushare with harmful values."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from gpushare._core import InvalidInput
from gpushare.backends.cuda.device import is_cuda
from gpushare.doctor.finding import Finding, State
from gpushare.model.devices import described_devices
from gpushare.profile.store import ProfileStore

TITLE = "CUDA settings"
OWN = "Own settings"
CONNECTIONS = 32
"""Hardware queues that gpushare requests: streams that share a queue wait for each other."""


@dataclass(frozen=True)
class Rule:
    """A variable, its harmful values, and their effect."""

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
        f"streams share hardware queues and wait for each other; unset, gpushare sets it to {CONNECTIONS}",
    ),
    Rule("CUDA_VISIBLE_DEVICES", lambda text: text.strip() in ("", "-1", "NoDevFiles"), "every GPU is hidden"),
    Rule("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", _below(100), "under MPS, kernels get a part of the SMs only"),
    Rule("CUDA_FORCE_PTX_JIT", _is_on, "kernels do not load: gpushare loads machine code, not PTX"),
)


def check(environment: Mapping[str, str] = os.environ) -> list[Finding]:
    """A finding per variable with a harmful value; for CUDA otherwise one that lists the set variables."""
    return [*_of_cuda(environment), *_of_gpushare(environment)]


def _of_gpushare(environment: Mapping[str, str]) -> Iterator[Finding]:
    for name, require_usable in (("GPUSHARE_DEVICE", _require_device), ("GPUSHARE_PROFILES", _require_store)):
        value = environment.get(name)
        try:
            if value:
                require_usable(value)
        except InvalidInput as error:
            why = f"Commands that use it fail: {error}."
            yield Finding(OWN, State.BROKEN, f"{name}={value}", (why,), f"unset {name}", facts={name: value})


def _require_device(name: str) -> None:
    if not is_cuda(name):  # the check of the driver lists the GPUs
        described_devices(name)


def _require_store(path: str) -> None:
    ProfileStore(Path(path)).require_usable()


def _of_cuda(environment: Mapping[str, str]) -> list[Finding]:
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
