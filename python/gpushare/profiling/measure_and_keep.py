# SPDX-License-Identifier: Apache-2.0
"""Measures kernels one after the other and stores each profile at once."""

from __future__ import annotations

from collections.abc import Sequence

from gpushare._core import CudaError, InvalidInput
from gpushare.backends.cuda.device import CudaDevice
from gpushare.profile.record import KernelProfile
from gpushare.profile.store import ProfileStore
from gpushare.profile.stored_fit import with_fit
from gpushare.profiling.measurement import measure_kernel
from gpushare.profiling.targets import Target
from gpushare.progress import tracked


def measure_and_keep(
    device: CudaDevice, targets: Sequence[Target], store: ProfileStore, progress: bool | None = None
) -> tuple[list[KernelProfile], dict[str, str]]:
    """The profiles, and by name the reason why a kernel has none; such a kernel does not end the rest.

    Raises:
        CudaError: a kernel faulted or does not end, and the GPU is lost to this process; the message names it.
    """
    profiles, failures = [], {}
    try:
        for target in tracked(targets, len(targets), "profiling", progress):
            try:
                measured = with_fit(measure_kernel(device, target.make()))
            except InvalidInput as error:
                failures[target.name] = str(error)
                continue
            except CudaError as error:
                raise CudaError(f"{target.name}: {error}") from error
            store.save(measured)
            profiles.append(measured)
    finally:
        device.forget_models()
    return profiles, failures
