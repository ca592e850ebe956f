# SPDX-License-Identifier: Apache-2.0
"""Devices by name or file: ``cuda:0`` is a GPU, ``sim:NAME`` or ``NAME`` a simulated one."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

from gpushare._core import Device, InvalidInput

DEVICES_FOLDER = Path(__file__).parent / "devices"
DEFAULT_DEVICE = "h100"


def device_names() -> list[str]:
    """The simulated devices that come with the package.

    >>> device_names()
    ['fermi-c2070', 'gpgpu-sim-24', 'gtx480', 'h100', 'k20', 'k40c', 'k40m', 'titan-xp']
    """
    return sorted(path.stem for path in DEVICES_FOLDER.glob("*.toml"))


def device(name: str | Path | Device = "auto", preferred: str | None = None) -> Device:
    """The device of this name, or of this TOML file (docs/guide/devices.md).

    Args:
        name: ``"cuda:0"`` (a GPU, as the scheduler sees it), ``"sim:h100"`` or ``"h100"``, a path to a TOML file, a
            :class:`Device` (returned as it is), or ``"auto"``: the environment variable GPUSHARE_DEVICE where it is
            set, else ``preferred``, else ``"h100"``.
        preferred: what ``"auto"`` means if the environment says nothing (a workload's own device).

    Raises:
        InvalidInput: there is no such device (the message lists the known ones), or its file is wrong.
        CudaError: there is no such GPU, or no driver.

    >>> device("sim:gtx480").sms
    15
    """
    from gpushare.backends.cuda.device import cuda_device, is_cuda

    name = chosen(name, preferred)
    if isinstance(name, Device):
        return name
    if is_cuda(name):
        return cuda_device(str(name)).description
    if str(name).endswith(".toml"):
        return _read(Path(name))
    stem = str(name).removeprefix("sim:")
    if stem not in device_names():
        raise InvalidInput(f"no device {str(name)!r}; known: {_known()}, cuda:0 for a GPU, or the path of a TOML file")
    return simulated_device(stem)


def simulated_device(stem: str) -> Device:
    """The one that comes with gpushare under this name.

    >>> simulated_device("h100").sms
    132
    """
    return _read(DEVICES_FOLDER / f"{stem}.toml")


def chosen(name: str | Path | Device, preferred: str | None = None) -> str | Path | Device:
    """What ``"auto"`` stands for, as in :func:`device`; anything else as it is."""
    if isinstance(name, Device) or str(name) != "auto":
        return name
    return os.environ.get("GPUSHARE_DEVICE") or preferred or DEFAULT_DEVICE


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
    from gpushare.model.device_file import read_device

    return read_device(path)
