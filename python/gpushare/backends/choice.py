# SPDX-License-Identifier: Apache-2.0
"""The backend of a device, by its name."""

from __future__ import annotations

from gpushare import _core
from gpushare._core import InvalidInput
from gpushare.backends.base import DEFAULT_PLACEMENT, DEFAULT_TIMEOUT_S, Backend
from gpushare.backends.cuda.backend import CudaBackend
from gpushare.backends.cuda.device import is_cuda, ordinal_of
from gpushare.backends.simulator.backend import SimulatorBackend
from gpushare.checks import require
from gpushare.model.devices import DeviceName, chosen, named_devices
from gpushare.model.workload import Workload

ALL_GPUS = "cuda:all"


def backend_named(name: DeviceName) -> Backend:
    """The backend of this device, as :func:`gpushare.device` knows it."""
    _require_one_gpu(name)
    return CudaBackend(str(name)) if is_cuda(name) else SimulatorBackend(name)


def device_names(name: DeviceName) -> list[DeviceName]:
    """The devices that a run, a session or a server is to have: simulated ones, or GPUs.

    Raises:
        InvalidInput: a GPU is named twice, or beside a simulated device, or there is none.

    >>> device_names("sim:h100*2"), device_names("cuda:0,cuda:1")
    (['sim:h100', 'sim:h100'], ['cuda:0', 'cuda:1'])
    """
    names = [each for part in named_devices(name) for each in (all_gpus() if str(part) == ALL_GPUS else [part])]
    gpus = [str(each) for each in names if is_cuda(each)]
    require(
        len(gpus) in (0, len(names)),
        f"device {str(name)!r} names GPUs and simulated devices: take either",
    )
    for each in gpus:
        same = [other for other in gpus if ordinal_of(other) == ordinal_of(each)]
        require(len(same) == 1, f"device {str(name)!r} names {each!r} twice")
    return names


def all_gpus() -> list[DeviceName]:
    """The GPUs of this machine.

    Raises:
        InvalidInput: there are none.
    """
    count = _core.cuda_device_count()
    require(count > 0, f"device {ALL_GPUS!r}: there is no GPU here, or no driver; gpushare doctor says more")
    return [f"cuda:{ordinal}" for ordinal in range(count)]


def require_placement(place: str) -> None:
    """Raise InvalidInput, listing those there are, unless this names a placement."""
    require(isinstance(place, str), f"place must be the name of a placement, got {place!r}")
    _core.require_placement(place)


def _require_one_gpu(name: DeviceName) -> None:
    names = named_devices(name)
    gpus = [str(each) for each in names if is_cuda(each)]
    for each in gpus:
        require(gpus.count(each) == 1, f"device {str(name)!r} names {each!r} twice")
    require(
        ALL_GPUS not in map(str, names) and (not gpus or len(names) == 1),
        f"device {str(name)!r}: of GPUs, name one here; several are for runs, sessions and servers",
    )


def backend_for(
    device: DeviceName, *workloads: Workload, timeout_s: float = DEFAULT_TIMEOUT_S, place: str = DEFAULT_PLACEMENT
) -> Backend:
    """The backend that runs all of these workloads.

    Args:
        device: as :func:`gpushare.device` knows it.
        workloads: at least one; ``"auto"`` is the device of each.
        timeout_s: how long a run on a GPU may take.
        place: the placement of applications on several devices.

    Raises:
        InvalidInput: some workloads are for a GPU, and one is for a simulated device; or there is no such placement.
    """
    require_placement(place)
    names = [device_names(chosen(device, each.device)) for each in workloads]
    if not any(is_cuda(each[0]) for each in names):
        return SimulatorBackend(device, place)
    for each, of_workload in zip(workloads, names, strict=True):
        if not is_cuda(of_workload[0]):
            raise InvalidInput(f"workload {each.name!r} is for a simulated device: compare it on its own")
    return CudaBackend([str(each) for each in names[0]], timeout_s, place=place)
