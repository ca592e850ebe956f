# SPDX-License-Identifier: Apache-2.0
"""Profiles of kernels: measured on a real GPU, stored, and used by simulated devices.

``record`` says what a profile holds, ``store`` and ``toml_export`` where it is kept; ``gpushare.profiling`` measures.
"""

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
from gpushare.providers import provide

__all__ = [
    "BlockTimes",
    "Conditions",
    "CopyCurve",
    "Counters",
    "DeviceProfile",
    "Energy",
    "KernelProfile",
    "RateCurve",
]

provide({"model_of": "gpushare.profile.model:model_of"})
