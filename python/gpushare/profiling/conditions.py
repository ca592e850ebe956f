# SPDX-License-Identifier: Apache-2.0
"""The conditions of a measurement."""

from __future__ import annotations

from datetime import UTC, datetime

from gpushare.backends.cuda.conditions import driver_words
from gpushare.backends.cuda.device import CudaDevice
from gpushare.profile.record import Conditions
from gpushare.version import __version__


def conditions_now(device: CudaDevice) -> Conditions:
    """Device, driver, version and date."""
    return Conditions(
        device=device.description.name,
        driver=driver_words(),
        gpushare=__version__,
        date=datetime.now(UTC).isoformat(timespec="seconds"),
    )
