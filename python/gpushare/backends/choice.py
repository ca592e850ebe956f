# SPDX-License-Identifier: Apache-2.0
"""The backend of a device, by its name."""

from __future__ import annotations

from pathlib import Path

from gpushare._core import Device, InvalidInput
from gpushare.backends.base import DEFAULT_TIMEOUT_S, Backend
from gpushare.backends.cuda.backend import CudaBackend
from gpushare.backends.cuda.device import is_cuda
from gpushare.backends.simulator.backend import SimulatorBackend
from gpushare.model.devices import chosen
from gpushare.model.workload import Workload


def backend_named(name: str | Path | Device) -> Backend:
    """The backend of this device, as :func:`gpushare.device` knows it."""
    return CudaBackend(str(name)) if is_cuda(name) else SimulatorBackend(name)


def backend_for(device: str | Path | Device, *workloads: Workload, timeout_s: float = DEFAULT_TIMEOUT_S) -> Backend:
    """The backend that runs all of these workloads.

    Args:
        device: as :func:`gpushare.device` knows it.
        workloads: at least one; ``"auto"`` is the device of each.
        timeout_s: how long a run on a GPU may take.

    Raises:
        InvalidInput: some workloads are for a GPU, and one is for a simulated device.
    """
    names = [chosen(device, each.device) for each in workloads]
    if not any(map(is_cuda, names)):
        return SimulatorBackend(device)
    for each, name in zip(workloads, names, strict=True):
        if not is_cuda(name):
            raise InvalidInput(f"workload {each.name!r} is for a simulated device: compare it on its own")
    return CudaBackend(str(names[0]), timeout_s)
