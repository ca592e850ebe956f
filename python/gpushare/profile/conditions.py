# SPDX-License-Identifier: Apache-2.0
"""The conditions of what is being measured now."""

from __future__ import annotations

from datetime import UTC, datetime

from gpushare.backends.cuda.device import CudaDevice
from gpushare.profile.record import Conditions


def conditions_now(device: CudaDevice) -> Conditions:
    """Device, driver, version and date."""
    import gpushare
    from gpushare.backends.cuda.conditions import driver_words

    return Conditions(
        device=device.description.name,
        driver=driver_words(),
        gpushare=gpushare.__version__,
        date=datetime.now(UTC).isoformat(timespec="seconds"),
    )
