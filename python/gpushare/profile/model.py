# SPDX-License-Identifier: Apache-2.0
"""Models of CUDA kernels for simulated devices, from their profiles."""

from __future__ import annotations

import warnings
from functools import lru_cache
from typing import TYPE_CHECKING

from gpushare._core import Device, InvalidInput
from gpushare.model.kernel_model import KernelModel
from gpushare.profile.fit import fitted, kernel_model
from gpushare.profile.fit_record import BlockFit
from gpushare.profile.lookup import SIMULATED, kernel_profile, simulated_stand_in
from gpushare.profile.record import KernelProfile

if TYPE_CHECKING:
    from gpushare.model.operation import Launch


def model_of(launch: Launch, device: Device) -> KernelModel:
    """The model of a launch of CUDA code on this simulated device.

    Raises:
        InvalidInput: the kernel has no profile for it, or it has no workers.

    >>> from gpushare import Launch, device
    >>> from gpushare.profile.lookup import shipped
    >>> model = model_of(Launch.of_suite("triad"), device("sim:h100")) if shipped().kernels else None
    >>> model is None or model.max_residency(device("sim:h100")) == 8
    True
    """
    name = launch.kernel.name
    missing = f"{name!r} is CUDA code and has no model on the simulated {device.name!r}"
    if device.name not in SIMULATED:
        raise InvalidInput(
            f"{missing}: profiles are used on {', '.join(f'sim:{each}' for each in SIMULATED)}; run it there, or on "
            "a GPU with device='cuda:0'"
        )
    kernel, _, block = launch.cuda
    profile = kernel_profile(kernel, block, SIMULATED[device.name])
    if profile is None:
        raise InvalidInput(
            f"{missing}, because there is no profile of it with blocks of {_shape(launch)} threads: measure it on an "
            f"{SIMULATED[device.name]} (gpushare profile), run it on a GPU with device='cuda:0', or launch a "
            "KernelModel of it"
        )
    if profile.worker_residency is None:
        raise InvalidInput(f"{missing}, because it has no workers: {profile.refusal}")
    return _model(profile, launch.shared_bytes, device)


def known_model(launch: Launch, device: Device) -> KernelModel | None:
    """The same for a GPU of this machine; None if the kernel has no profile for it.

    >>> from gpushare import Kernel, Launch, device
    >>> kernel = Kernel("__global__ void nobody_measured_this() {}", "nobody_measured_this")
    >>> print(known_model(Launch(kernel, grid=1, block=32), device("sim:h100")))
    None
    """
    if simulated_stand_in(device.name) is None and device.name not in SIMULATED:
        return None  # the bandwidth of its memory is not known
    try:
        kernel, _, block = launch.cuda
        profile = kernel_profile(kernel, block, device.name)
    except InvalidInput as error:
        warnings.warn(f"policies have no profile of {launch.kernel.name!r}: {error}", stacklevel=2)
        return None
    fit = _fit(profile, device) if profile else None
    return kernel_model(profile, fit, launch.shared_bytes) if profile and fit else None


def rate_as_written(launch: Launch, device: Device) -> float:
    """Blocks per nanosecond of the original kernel with the GPU to itself; 0 where nobody has measured it there."""
    kernel, _, block = launch.cuda
    profile = kernel_profile(kernel, block, device.name)
    return profile.blocks / profile.median_alone_ns if profile else 0.0


def _shape(launch: Launch) -> str:
    return "x".join(str(extent) for extent in launch.cuda.block)


def _model(profile: KernelProfile, shared_bytes: int, device: Device) -> KernelModel:
    fit = _fit(profile, device)
    if fit is None:
        raise InvalidInput(f"the profile of {profile.kernel!r} has no curves to take a model from: measure it again")
    return kernel_model(profile, fit, shared_bytes)


@lru_cache(maxsize=4096)
def _fit(profile: KernelProfile, device: Device) -> BlockFit | None:
    return profile.fit or fitted(profile, device).fit
