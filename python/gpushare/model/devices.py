# SPDX-License-Identifier: Apache-2.0
"""Simulated devices by name or file, and what ``"auto"`` stands for."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any

from gpushare._core import Device, InvalidInput
from gpushare.checks import did_you_mean, require
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
    "peer",
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


DeviceName = str | Path | Device
"""A device, or several as in ``"h100*2,k40m"``."""
COUNTED = re.compile(r"(?P<name>.+)\*(?P<count>[0-9]{1,9})")
MOST_DEVICES = 64
"""In one run."""


def named_devices(name: DeviceName) -> list[DeviceName]:
    """The devices that a name stands for, one by one.

    Raises:
        InvalidInput: they are too many, or there are none of one.

    >>> named_devices("sim:h100*2,k40m")
    ['sim:h100', 'sim:h100', 'k40m']
    """
    if not isinstance(name, str):
        return [name]
    names: list[DeviceName] = []
    for part in name.split(","):
        match = COUNTED.fullmatch(part)
        count = int(match["count"]) if match else 1
        require(
            0 < count <= MOST_DEVICES - len(names),
            f"device {name!r}: expected at least one of each, as in 'h100*2,k40m', and at most {MOST_DEVICES} in all",
        )
        names += [match["name"] if match else part] * count
    return names


def described_devices(name: DeviceName) -> tuple[Device, ...]:
    """The simulated devices of this name, as :func:`described_device` finds each."""
    return _same_object(tuple(_described(each) for each in named_devices(name)))


@lru_cache(maxsize=64)
def _same_object(devices: tuple[Device, ...]) -> tuple[Device, ...]:
    """Equal tuples are one object, which is sent to other processes once."""
    return devices


def devices_text(devices: Sequence[Device]) -> str:
    """The name of these devices.

    >>> devices_text([simulated_device("h100")] * 2 + [simulated_device("k40m")])
    'h100*2,k40m'
    """
    counts = [(name, len(list(same))) for name, same in groupby(devices, lambda each: each.name)]
    return ",".join(f"{name}*{count}" if count > 1 else name for name, count in counts)


def described_device(name: DeviceName) -> Device:
    """The simulated device of this name, or of this TOML file; a device is returned as it is.

    Raises:
        InvalidInput: there is no such device (the message lists the known ones), its file is wrong, or there are
            several.
    """
    names = named_devices(name)
    require(len(names) == 1, f"{str(name)!r} are {len(names)} devices, and only one can be taken here")
    return _described(names[0])


def _described(name: DeviceName) -> Device:
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


def chosen(name: DeviceName, preferred: str | None = None) -> DeviceName:
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
