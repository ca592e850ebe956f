# SPDX-License-Identifier: Apache-2.0
"""A GPU, for sessions."""

from __future__ import annotations

import statistics
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpushare import _core
from gpushare._core import Device, HardwareSharing, InvalidInput
from gpushare.arguments.device_array import DeviceArray, Kept, allocate, from_host
from gpushare.backends.base import SessionDevice, Submitted, is_ordering
from gpushare.backends.cuda.conditions import measured_now
from gpushare.backends.cuda.copies import known_by_measured_copies
from gpushare.backends.cuda.device import CudaDevice, give_up_if_broken
from gpushare.backends.cuda.loaded_code import LoadedCode
from gpushare.kernels.fast_packing import PackedLaunches
from gpushare.model.kernel_model import KernelModel
from gpushare.model.launch_shapes import LaunchShapes
from gpushare.model.operation import Launch
from gpushare.model.workload import Workload
from gpushare.results.measured import Measured

if TYPE_CHECKING:
    from gpushare.kernels.kernel import Kernel

ALONE_REPEATS = 3
MOST_WORKER_BLOCKS = 1 << 31


def estimates_for(device: CudaDevice, ordering: str) -> Device | None:
    """The device model by which an ordering estimates times on a GPU; None where the ordering estimates none."""
    return known_by_measured_copies(device) if is_ordering(ordering) else None


@dataclass(frozen=True)
class Shape:
    """The common part of launches on a GPU that differ in their arguments only."""

    launch: Launch
    core: _core.Launch
    launches: PackedLaunches


class GpuInSession(SessionDevice):
    """A GPU, for sessions."""

    def __init__(self, device: CudaDevice) -> None:
        self.device = device
        self.code = LoadedCode(device)
        self._shapes = LaunchShapes(self._shape)
        self._spread_shapes = LaunchShapes(self._spread_shape)

    @property
    def kind(self) -> Hashable:
        """The driver describes each GPU anew."""
        return self.device.core.architecture, self.device.description.name, self.device.description.sms

    def open(
        self, policy: Any, ordering: str, *, keeps_record: bool, beside: SessionDevice | None = None
    ) -> _core.CoreSession:
        """Opens a session of the core under this policy and this ordering."""
        estimates = estimates_for(self.device, ordering)
        return _core.CoreSession(self.device.core, policy, keeps_record, ordering, estimates)

    @property
    def ordinal(self) -> int:
        """The number of the GPU in the driver."""
        return self.device.ordinal

    @property
    def gpu(self) -> _core.CudaDevice:
        """The GPU."""
        return self.device.core

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
        """A variable of the kernel's source; the session has its own copy of it."""
        return self.code.variable(kernel, name, dtype, shape)

    def launch(
        self, kernel: Any, grid: Any, block: Any, shared_bytes: int, args: tuple[Any, ...], *, keeps: bool
    ) -> Submitted:
        """The core's launch with its code and checked arguments."""
        return _submitted(self._shapes.of(kernel, grid, block, shared_bytes), args, keeps)

    def spread_launch(
        self, kernel: Any, grid: Any, block: Any, shared_bytes: int, args: tuple[Any, ...], *, keeps: bool
    ) -> Submitted:
        """The same for a launch on several GPUs."""
        return _submitted(self._spread_shapes.of(kernel, grid, block, shared_bytes), args, keeps)

    def core_launch(self, kernel: Any, grid: Any, block: Any, shared_bytes: int) -> _core.Launch:
        """The launch of the kernel, which is loaded for it."""
        return self._shapes.of(kernel, grid, block, shared_bytes).core

    def _shape(self, kernel: Any, grid: Any, block: Any, shared_bytes: int) -> Shape:
        launch = _launch_of(kernel, grid, block, shared_bytes)
        return self._shape_with(launch, self.code.load(kernel))

    def _spread_shape(self, kernel: Any, grid: Any, block: Any, shared_bytes: int) -> Shape:
        launch = _launch_of(kernel, grid, block, shared_bytes)
        code, threads = self.code.load_spread(kernel), launch.cuda[2]
        if not code.can_be_worker(threads, shared_bytes) or launch.blocks >= MOST_WORKER_BLOCKS:
            raise InvalidInput(
                f"kernel {kernel.name!r} cannot run on several GPUs with {launch.blocks} blocks of {threads} threads "
                f"and {shared_bytes} bytes of dynamic shared memory: its worker takes fewer than {MOST_WORKER_BLOCKS} "
                "blocks, and needs registers and shared memory of its own: take smaller blocks, or leave out spread"
            )
        return self._shape_with(launch, code)

    def _shape_with(self, launch: Launch, code: _core.KernelCode) -> Shape:
        kernel, grid, block = launch.cuda
        core = _core.Launch(self.device.model(launch, code), launch.blocks)
        _core.require_runnable(self.device.description, core)
        return Shape(launch, core, PackedLaunches(code, self.device.compiled(kernel), grid, block, launch.shared_bytes))

    def alone_ns(self, name: str, launches: Sequence[Submitted]) -> int:
        """Runs the original kernels again; afterwards restores the arrays that they write."""
        program = _core.CudaProgram()
        arrays: dict[Any, Any] = {}
        for submitted in launches:
            assert submitted.code is not None  # a GPU's launch has one
            program.add(submitted.code)
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
        return measured_now(self.device, workload, done)

    def check(self) -> None:
        """Releases a GPU on which a kernel has faulted or does not end."""
        give_up_if_broken(self.device)

    def forget(self) -> None:
        """Releases the session's copies of kernels' variables with its last job."""
        self.code.clear()
        self._shapes = LaunchShapes(self._shape)
        self._spread_shapes = LaunchShapes(self._spread_shape)


def _launch_of(kernel: Any, grid: Any, block: Any, shared_bytes: int) -> Launch:
    if isinstance(kernel, KernelModel):
        raise InvalidInput(f"{kernel.name!r} is a model of a kernel, for simulated devices: a GPU runs a gs.Kernel")
    return Launch(kernel, grid=grid, block=block, shared_bytes=shared_bytes)


def _submitted(shape: Shape, args: tuple[Any, ...], keeps: bool) -> Submitted:
    code = shape.launches.of(args)  # names an argument that has been freed
    return Submitted(shape.launch, shape.core, code, [_held(each) for each in args] if keeps else ())


def _held(argument: Any) -> Any:
    """The argument, held so that it is not freed while the job runs."""
    return argument.alias() if isinstance(argument, DeviceArray) else argument


def _place(array: Any) -> tuple[object, ...]:
    described = array.__cuda_array_interface__
    return described["data"][0], described["shape"], described["typestr"]
