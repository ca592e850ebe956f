# SPDX-License-Identifier: Apache-2.0
"""What a session needs of a device, and how a GPU provides it."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from gpushare import _core
from gpushare._core import Device, HardwareSharing, InvalidInput
from gpushare.backends.cuda.conditions import Measured
from gpushare.backends.cuda.copies import known_by_measured_copies
from gpushare.backends.cuda.device import CudaDevice, cuda_device, give_up_if_broken, is_cuda
from gpushare.backends.cuda.device_array import DeviceArray, Kept, allocate, from_host
from gpushare.backends.cuda.loaded_code import LoadedCode
from gpushare.device import chosen
from gpushare.kernels.fast_packing import QuickPacking
from gpushare.model.kernel_model import KernelModel
from gpushare.model.launch_shapes import LaunchShapes
from gpushare.model.operation import Launch
from gpushare.model.workload import Workload
from gpushare.session.job import Submitted

if TYPE_CHECKING:
    from gpushare.kernels.kernel import Kernel

ALONE_REPEATS = 3


def is_ordering(name: str) -> bool:
    """Whether operations wait for anything but those before them in their application.

    >>> is_ordering("arrival"), is_ordering("cumas:window=4")
    (False, True)
    """
    return name.partition(":")[0] != "arrival"


class SessionDevice(Protocol):
    """A device to open sessions on."""

    device: Any
    """What users see of it: it has a ``name`` and a ``description``."""

    def open(self, policy: Any, ordering: str, *, keeps_record: bool) -> _core.CoreSession:
        """A session of the core under this policy, and this ordering."""

    def array(self, values: Any) -> DeviceArray:
        """A copy of host values on the device."""

    def zeros(self, shape: Any, dtype: Any) -> DeviceArray:
        """Zeroed memory of the device."""

    def load(self, kernel: Kernel) -> None:
        """Makes the kernel ready to run."""

    def variable(self, kernel: Kernel, name: str, dtype: Any, shape: Any) -> DeviceArray:
        """A variable of the kernel's source."""

    def launch(
        self, kernel: Any, grid: Any, block: Any, shared_bytes: int, args: Sequence[Any], *, keeps: bool
    ) -> Submitted:
        """A launch as the core takes it. ``keeps``: its arguments will be needed by :meth:`alone_ns`."""

    def alone_ns(self, name: str, launches: Sequence[Submitted]) -> int:
        """How long these launches take one after the other, with nobody else there."""

    def conditions(self, workload: Workload, done: _core.CoreWorkload) -> Measured | None:
        """What is to be kept of how a run was made; nothing for one that can be made again anywhere."""

    def check(self) -> None:
        """Called when a session has failed or been closed: gives up a device that cannot be used any more."""

    def forget(self) -> None:
        """Called when a session is over: its kernels' variables go."""


def session_device(name: str | Path | Device, speed: float) -> SessionDevice:
    """The device of this name, as :func:`gpushare.device` knows it.

    Raises:
        InvalidInput: there is none, or a GPU is to run at another speed than its own.
        CudaError: there is no such GPU, or no driver.
    """
    name = chosen(name, "cuda:0")
    if is_cuda(name):
        if speed != 1:
            raise InvalidInput(f"speed is for simulated devices: {str(name)!r} runs as fast as it does, not {speed!r}")
        return GpuInSession(cuda_device(str(name)))
    from gpushare.session.simulated_device import SimulatorInSession

    return SimulatorInSession(name, speed)


def estimates_for(device: CudaDevice, ordering: str) -> Device | None:
    """By what an ordering tells times on a GPU; None where it need not."""
    return known_by_measured_copies(device) if is_ordering(ordering) else None


@dataclass(frozen=True)
class Shape:
    """What launches on a GPU that differ in arguments alone have in common."""

    launch: Launch
    core: _core.Launch
    code: _core.KernelCode
    packing: QuickPacking


class GpuInSession:
    """A GPU, for sessions."""

    def __init__(self, device: CudaDevice) -> None:
        self.device = device
        self.code = LoadedCode(device)
        self._shapes = LaunchShapes(self._shape)

    def open(self, policy: Any, ordering: str, *, keeps_record: bool) -> _core.CoreSession:
        """A session of the core under this policy, and this ordering."""
        estimates = estimates_for(self.device, ordering)
        return _core.CoreSession(self.device.core, policy, keeps_record, ordering, estimates)

    def array(self, values: Any) -> DeviceArray:
        """A copy of host values on the device."""
        return from_host(self.device.core, values)

    def zeros(self, shape: Any, dtype: Any) -> DeviceArray:
        """Zeroed memory of the device."""
        return allocate(self.device.core, shape, dtype)

    def load(self, kernel: Kernel) -> None:
        """Compiles the kernel and loads it."""
        self.code.load(kernel)

    def variable(self, kernel: Kernel, name: str, dtype: Any, shape: Any) -> DeviceArray:
        """A variable of the kernel's source, which this session has a copy of."""
        return self.code.variable(kernel, name, dtype, shape)

    def launch(
        self, kernel: Any, grid: Any, block: Any, shared_bytes: int, args: Sequence[Any], *, keeps: bool
    ) -> Submitted:
        """With its code and arguments; both are checked."""
        if isinstance(kernel, KernelModel):
            raise InvalidInput(f"{kernel.name!r} is a model of a kernel, for simulated devices: a GPU runs a gs.Kernel")
        shape = self._shapes.of(kernel, grid, block, shared_bytes)
        launch, packed = shape.launch, shape.packing.pack(args)
        program = _core.CudaProgram()
        program.add_launch(shape.code, launch.grid, launch.block, launch.shared_bytes, packed)
        return Submitted(launch, shape.core, program, [_held(each) for each in args] if keeps else ())

    def _shape(self, kernel: Any, grid: Any, block: Any, shared_bytes: int) -> Shape:
        launch = Launch(kernel, grid=grid, block=block, shared_bytes=shared_bytes)
        code, compiled = self.code.load(kernel), self.device.compiled(kernel)
        core = _core.Launch(self.device.model(launch, code), launch.blocks)
        _core.require_runnable(self.device.description, core)
        return Shape(launch, core, code, QuickPacking(compiled.name, compiled.parameters))

    def alone_ns(self, name: str, launches: Sequence[Submitted]) -> int:
        """The original kernels again; what they write is put back."""
        program = _core.CudaProgram()
        arrays = {}
        for submitted in launches:
            program.extend(submitted.program)
            arrays |= {_place(each): each for each in submitted.arguments if hasattr(each, "__cuda_array_interface__")}
        kept = [Kept(self.device.core, array) for array in arrays.values()] + self.code.kept_variables()
        operations = [submitted.core for submitted in launches]
        workload = _core.CoreWorkload("alone", [_core.Application(name, operations)])
        times = []
        for _ in range(ALONE_REPEATS):
            record = _core.run_as_hardware_does(self.device.core, program, workload, HardwareSharing.STREAMS)
            times.append(record.turnarounds[0])
            for each in kept:
                each.put_back()
        return round(statistics.median(times))

    def conditions(self, workload: Workload, done: _core.CoreWorkload) -> Measured | None:
        """Date, driver, and how the kernels fit."""
        return Measured.now(self.device, workload, done)

    def check(self) -> None:
        """Gives up a GPU on which a kernel has faulted or does not end."""
        give_up_if_broken(self.device)

    def forget(self) -> None:
        """The copies that kernels' variables have in this session go with its last job."""
        self.code.clear()
        self._shapes = LaunchShapes(self._shape)


def _held(argument: Any) -> Any:
    """The argument, and nobody else's to free."""
    return argument.alias() if isinstance(argument, DeviceArray) else argument


def _place(array: Any) -> tuple[object, ...]:
    described = array.__cuda_array_interface__
    return described["data"][0], described["shape"], described["typestr"]
