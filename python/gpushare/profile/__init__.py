# SPDX-License-Identifier: Apache-2.0
"""Profiles of kernels: measured on a real GPU, kept, and found again where there is none.

``record`` says what a profile holds, ``measurement`` how it comes about, ``store`` and ``toml_export`` where it is
kept.
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
