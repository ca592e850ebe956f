# SPDX-License-Identifier: Apache-2.0
"""Finds the profile of a kernel: among the user's own, else among those that come with the package."""

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
SIMULATED = {"h100": "NVIDIA H100 80GB HBM3"}
"""The GPU that a simulated device stands for."""


def profile_of(kernel: Kernel, block: Any, device: str = "sim:h100") -> KernelProfile | None:
    """What is known of this kernel with blocks of this shape, or None.

    The user's own profiles (``gpushare profile``) come before those that come with gpushare. Needs no GPU, unless
    ``device`` names one of this machine.

    Args:
        kernel: what would run.
        block: threads per block, an int or up to three, x first.
        device: ``"cuda:0"``, ``"sim:h100"``, or a GPU as its driver calls it.

    >>> from gpushare import Kernel
    >>> unknown = Kernel("__global__ void nobody_measured_this() {}", "nobody_measured_this")
    >>> print(profile_of(unknown, block=256))
    None
    """
    key = ProfileKey.of(kernel, block, real_name(device))
    return ProfileStore().find(key) or _shipped_by_key().get(key)


def device_profile(device: str = "sim:h100") -> DeviceProfile | None:
    """What is known of a GPU's copies, or None; ``device`` as for :func:`profile_of`."""
    name = real_name(device)
    known = {each.conditions.device: each for each in shipped().devices}
    return ProfileStore().device(name) or known.get(name)


def real_name(device: str) -> str:
    """The GPU as its driver calls it.

    >>> real_name("sim:h100"), real_name("NVIDIA L4")
    ('NVIDIA H100 80GB HBM3', 'NVIDIA L4')
    """
    from gpushare.backends.cuda.device import cuda_device, is_cuda

    if is_cuda(device):
        return cuda_device(device).description.name
    return SIMULATED.get(device.removeprefix("sim:"), device)


def simulated_stand_in(name: str) -> str | None:
    """The simulated device that stands for the GPU of this name, or None.

    >>> simulated_stand_in("NVIDIA H100 80GB HBM3"), simulated_stand_in("NVIDIA L4")
    ('h100', None)
    """
    return next((stem for stem, real in SIMULATED.items() if real == name), None)


@cache
def shipped() -> ProfileFile:
    """What comes with the package, read once."""
    files = [read_profiles(path) for path in sorted(SHIPPED_FOLDER.glob("*.toml"))]
    return ProfileFile(
        tuple(profile for file in files for profile in file.kernels),
        tuple(profile for file in files for profile in file.devices),
    )


@cache
def _shipped_by_key() -> dict[ProfileKey, KernelProfile]:
    return {ProfileKey.of_profile(each): each for each in shipped().kernels}
