# SPDX-License-Identifier: Apache-2.0
"""Fits that are stored with measurements."""

from __future__ import annotations

from typing import TypeVar

from gpushare.model.devices import simulated_device
from gpushare.profile.fit import fitted, fitted_copies
from gpushare.profile.lookup import SIMULATED
from gpushare.profile.record import DeviceProfile, KernelProfile

Profile = TypeVar("Profile", KernelProfile, DeviceProfile)


def with_fit(profile: Profile) -> Profile:
    """The profile with a fit of this version; for a kernel only if its GPU has a simulated device."""
    if isinstance(profile, DeviceProfile):
        return fitted_copies(profile)
    simulated = next((name for name, real in SIMULATED.items() if real == profile.conditions.device), None)
    return profile if simulated is None else fitted(profile, simulated_device(simulated))
