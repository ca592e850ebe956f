# SPDX-License-Identifier: Apache-2.0
"""What is known of kernels and copies on a device, by the name of the device."""

from __future__ import annotations

from typing import Any

from gpushare.backends.choice import backend_named
from gpushare.checks import require
from gpushare.kernels.kernel import Kernel
from gpushare.profile.lookup import SIMULATED, copy_profile, kernel_profile
from gpushare.profile.record import DeviceProfile, KernelProfile


def profile_of(kernel: Kernel, block: Any, device: str = "sim:h100") -> KernelProfile | None:
    """What is known of this kernel with blocks of this shape, or None.

    The user's own profiles (``gpushare profile``) come before those that come with gpushare. Needs no GPU, unless
    ``device`` names one of this machine.

    Args:
        kernel: what would run.
        block: threads per block, an int or up to three, x first.
        device: ``"cuda:0"``, ``"sim:h100"``, or a GPU as its driver calls it.

    Raises:
        InvalidInput: the kernel is none with code, or the block cannot be.

    >>> from gpushare import Kernel
    >>> unknown = Kernel("__global__ void nobody_measured_this() {}", "nobody_measured_this")
    >>> print(profile_of(unknown, block=256))
    None
    """
    require(isinstance(kernel, Kernel), f"profile_of: expected a gpushare.Kernel, got {kernel!r}")
    return kernel_profile(kernel, block, real_name(device))


def device_profile(device: str = "sim:h100") -> DeviceProfile | None:
    """What is known of a GPU's copies, or None; ``device`` as for :func:`profile_of`."""
    return copy_profile(real_name(device))


def real_name(device: str) -> str:
    """The GPU as its driver calls it.

    >>> real_name("sim:h100"), real_name("NVIDIA L4")
    ('NVIDIA H100 80GB HBM3', 'NVIDIA L4')
    """
    gpu = backend_named(device).gpu
    return gpu.description.name if gpu is not None else SIMULATED.get(device.removeprefix("sim:"), device)
