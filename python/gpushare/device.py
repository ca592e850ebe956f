# SPDX-License-Identifier: Apache-2.0
"""Finds devices by name or file: ``cuda:0`` is a GPU, ``sim:NAME`` or ``NAME`` a simulated device."""

from __future__ import annotations

from pathlib import Path

from gpushare._core import Device
from gpushare.backends.choice import backend_named
from gpushare.model.devices import chosen


def device(name: str | Path | Device = "auto", preferred: str | None = None) -> Device:
    """The device of this name, or of this TOML file (docs/guide/devices.md).

    Args:
        name: ``"cuda:0"`` (a GPU, as the scheduler sees it), ``"sim:h100"`` or ``"h100"``, a path to a TOML file, a
            :class:`Device` (returned as it is), or ``"auto"``: the environment variable GPUSHARE_DEVICE where it is
            set, else ``preferred``, else ``"h100"``.
        preferred: the device for ``"auto"`` where the environment variable is not set (a workload's device).

    Raises:
        InvalidInput: there is no such device (the message lists the known ones), or its file is wrong.
        CudaError: there is no such GPU, or no driver.

    >>> device("sim:gtx480").sms
    15
    """
    return backend_named(chosen(name, preferred)).description
