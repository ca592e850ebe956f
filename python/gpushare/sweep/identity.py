# SPDX-License-Identifier: Apache-2.0
"""What a sweep is, as its folder states it, so that no other sweep's runs are taken for its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from gpushare._core import Device
from gpushare.model.devices import devices_text
from gpushare.model.workload import Workload
from gpushare.policy import Policy, policy_name
from gpushare.sweep.digest import digest, source
from gpushare.version import __version__

FORMAT = 1


def description(
    workloads: Sequence[Workload],
    devices: Sequence[tuple[Device, ...]],
    place: str,
    policies: Sequence[str | Policy],
    seed: int,
) -> dict[str, Any]:
    """The sweep in terms of JSON: names, each with a digest of what it stands for. Repeats may be added later."""
    return {
        "format": FORMAT,
        "gpushare": __version__,
        "seed": seed,
        "workloads": {
            each.name: digest([each.to_dict(), *(_models(each, device) for device in on)], f"workload {each.name!r}")
            for each, on in zip(workloads, devices, strict=True)
        },
        "devices": {
            each.name: f"{devices_text(on)} {digest(on, devices_text(on))}"
            for each, on in zip(workloads, devices, strict=True)
        },
        "place": place,
        "policies": {policy_name(each): _of_policy(each) for each in policies},
    }


def difference(found: Mapping[str, Any], due: Mapping[str, Any]) -> str | None:
    """In words, the first thing in which two descriptions differ; None where they are equal."""
    for key, value in due.items():
        there = found.get(key)
        if isinstance(value, dict) and isinstance(there, dict):
            names = [name for name in {**value, **there} if value.get(name) != there.get(name)]
            if names:
                return f"{key}: {', '.join(map(repr, names))}"
        elif there != value:
            return f"{key}: {there!r} in the folder, {value!r} here"
    return None


def _models(workload: Workload, device: Device) -> list[dict[str, Any]]:
    """What CUDA code is simulated by, which follows from profiles."""
    launches = [launch for application in workload.applications for _, launch in application.launches()]
    return [asdict(launch.model_on(device)) for launch in launches if launch.is_real]


def _of_policy(policy: str | Policy) -> str:
    """The digest of a policy in Python is of its class's source and of its attributes."""
    if isinstance(policy, str):
        return "built-in"
    classes = [each for each in type(policy).__mro__ if each is not Policy and each is not object]
    written = [[each.__qualname__, source(each)] for each in classes]
    return digest([written, vars(policy)], f"policy {policy_name(policy)!r}")
