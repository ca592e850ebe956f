# SPDX-License-Identifier: Apache-2.0
"""Profiles of kernels: measured on a real GPU, stored, and used by simulated devices.

``record`` has their contents, ``measurement`` measures them, ``store`` and ``toml_export`` store them.
"""

from gpushare.profile.lookup import device_profile, profile_of
from gpushare.profile.record import (
    BlockTimes,
    Conditions,
    CopyCurve,
    Counters,
    DeviceProfile,
    Energy,
    KernelProfile,
    RateCurve,
)

__all__ = [
    "BlockTimes",
    "Conditions",
    "CopyCurve",
    "Counters",
    "DeviceProfile",
    "Energy",
    "KernelProfile",
    "RateCurve",
    "device_profile",
    "profile_of",
]
