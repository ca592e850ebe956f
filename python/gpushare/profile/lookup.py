# SPDX-License-Identifier: Apache-2.0
"""Finds the profile of a kernel in the user's store, else among those that come with the package."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpushare.profile.key import ProfileKey
from gpushare.profile.record import DeviceProfile, KernelProfile
from gpushare.profile.store import ProfileStore
from gpushare.profile.toml_export import ProfileFile, read_profiles

if TYPE_CHECKING:
    from gpushare.kernels.kernel import Kernel

SHIPPED_FOLDER = Path(__file__).parents[1] / "profiles"
SIMULATED = {"h100": "NVIDIA H100 80GB HBM3", "h200": "NVIDIA H200"}
"""GPUs by the simulated device that represents them."""


def kernel_profile(kernel: Kernel, block: Any, gpu: str) -> KernelProfile | None:
    """What is known of this kernel with blocks of this shape on a GPU, named as its driver calls it; or None."""
    key = ProfileKey.of(kernel, block, gpu)
    return ProfileStore().find(key) or _shipped_by_key().get(key)


def copy_profile(gpu: str) -> DeviceProfile | None:
    """What is known of the copies of a GPU, named as its driver calls it; or None."""
    known = {each.conditions.device: each for each in shipped().devices}
    return ProfileStore().device(gpu) or known.get(gpu)


def simulated_stand_in(name: str) -> str | None:
    """The simulated device that represents the GPU of this name, or None.

    >>> simulated_stand_in("NVIDIA H100 80GB HBM3"), simulated_stand_in("NVIDIA L4")
    ('h100', None)
    """
    return next((stem for stem, real in SIMULATED.items() if real == name), None)


@cache
def shipped() -> ProfileFile:
    """The profiles that come with the package, read once."""
    files = [read_profiles(path) for path in sorted(SHIPPED_FOLDER.glob("*.toml"))]
    return ProfileFile(
        tuple(profile for file in files for profile in file.kernels),
        tuple(profile for file in files for profile in file.devices),
    )


@cache
def _shipped_by_key() -> dict[ProfileKey, KernelProfile]:
    return {ProfileKey.of_profile(each): each for each in shipped().kernels}
