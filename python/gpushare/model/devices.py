# SPDX-License-Identifier: Apache-2.0
"""Simulated devices by name or file, and what ``"auto"`` stands for."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Any

from gpushare._core import Device, InvalidInput
from gpushare.checks import did_you_mean
from gpushare.providers import provided

DEVICES_FOLDER = Path(__file__).parents[1] / "devices"
DEFAULT_DEVICE = "h100"
FIGURES = (
    "name",
    "sms",
    "clock_hz",
    "per_sm",
    "granularity",
    "off_sm",
    "to_device",
    "to_host",
    "delays",
    "tuning",
    "runtime",
    "flops_per_s",
    "memory_bytes",
)


def device_names() -> list[str]:
    """The simulated devices that come with the package.

    >>> device_names()
    ['fermi-c2070', 'gpgpu-sim-24', 'gtx480', 'h100', 'h200', 'k20', 'k40c', 'k40m', 'titan-xp']
    """
    return sorted(path.stem for path in DEVICES_FOLDER.glob("*.toml"))


def described_device(name: str | Path | Device) -> Device:
    """The simulated device of this name, or of this TOML file; a device is returned as it is.

    Raises:
        InvalidInput: there is no such device (the message lists the known ones), or its file is wrong.
    """
    if isinstance(name, Device):
        return name
    if str(name).endswith(".toml"):
        return _read(Path(name))
    stem = str(name).removeprefix("sim:")
    if stem not in device_names():
        meant = did_you_mean(stem, device_names())
        others = f"cuda:0 for a GPU, or the path of a TOML file{meant}"
        raise InvalidInput(f"no device {str(name)!r}; known: {_known()}, {others}")
    return simulated_device(stem)


def simulated_device(stem: str) -> Device:
    """The one that comes with gpushare under this name.

    >>> simulated_device("h100").sms
    132
    """
    return _read(DEVICES_FOLDER / f"{stem}.toml")


def chosen(name: str | Path | Device, preferred: str | None = None) -> str | Path | Device:
    """What ``"auto"`` stands for, as in :func:`gpushare.device`; anything else as it is."""
    if isinstance(name, Device) or str(name) != "auto":
        return name
    return os.environ.get("GPUSHARE_DEVICE") or preferred or DEFAULT_DEVICE


def changed_device(device: Device, **changes: Any) -> Device:
    """A device that differs from this one in what is named.

    >>> changed_device(simulated_device("h100"), sms=2).sms
    2
    """
    return Device(**{name: getattr(device, name) for name in FIGURES} | changes)


def _known() -> str:
    return ", ".join(f"sim:{name}" for name in device_names())


def _read(path: Path) -> Device:
    try:
        changed = path.stat().st_mtime_ns
    except OSError:
        changed = None  # reading it says what is wrong
    return _read_once(path, changed)


@lru_cache(maxsize=64)
def _read_once(path: Path, _changed: int | None) -> Device:
    """One object per version of a file, because runtimes alone are remembered per device."""
    device: Device = provided("read_device")(path)
    return device
