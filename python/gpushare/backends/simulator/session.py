# SPDX-License-Identifier: Apache-2.0
"""Sessions on simulated devices: launches take time and compute nothing, and arrays are in host memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from gpushare import _core
from gpushare._core import Device, InvalidInput
from gpushare.arguments.device_array import DeviceArray, allocate, from_host
from gpushare.backends.base import SessionDevice, Submitted
from gpushare.checks import number
from gpushare.model.launch_shapes import LaunchShapes
from gpushare.model.operation import Launch

if TYPE_CHECKING:
    from gpushare.kernels.kernel import Kernel
    from gpushare.model.workload import Workload
    from gpushare.results.measured import Measured

SPEEDS = (1e-6, 1e6)
NO_VARIABLES = "kernels compute nothing on a simulated device and have no variables there"


class HostMemory:
    """Memory of a simulated device. It has no device address, so other libraries refuse the array."""

    def __init__(self, count: int) -> None:
        self._bytes = np.zeros(count, np.uint8)

    @property
    def address(self) -> NoReturn:
        """There is none."""
        raise AttributeError("memory of a simulated device has no address")

    def upload(self, source: np.ndarray, offset: int = 0) -> None:
        """Copies these bytes into it."""
        self._bytes[offset : offset + source.size] = source

    def download(self, target: np.ndarray, offset: int = 0) -> None:
        """Copies bytes out of it, as many as ``target`` holds."""
        target[:] = self._bytes[offset : offset + target.size]


class HostAllocator:
    """Allocates memory of a simulated device, up to the size of the host's memory."""

    def allocate(self, count: int, cleared: bool = True) -> HostMemory:
        """Allocates memory, which is always zeroed."""
        return HostMemory(count)


@dataclass(frozen=True)
class SimulatedDevice:
    """A simulated device of a session.

    Attributes:
        name: as the user gave it.
        description: the device.
    """

    name: str
    description: Device


class SimulatorInSession(SessionDevice):
    """A simulated device, for sessions."""

    shares_clock = True

    def __init__(self, name: str, description: Device, speed: float) -> None:
        self.device = SimulatedDevice(name, description)
        self._clock = _core.SimulatedClock(number("speed", speed, *SPEEDS))
        self._memory = HostAllocator()
        self._shapes = LaunchShapes(self._shape)

    def open(
        self, policy: Any, ordering: str, *, keeps_record: bool, beside: SessionDevice | None = None
    ) -> _core.CoreSession:
        """Opens a session of the core under this policy and this ordering; all devices have the time of one clock."""
        if isinstance(beside, SimulatorInSession):
            self._clock = beside._clock
        return _core.CoreSession(self.device.description, policy, 0, self._clock, keeps_record, ordering)

    def array(self, values: Any) -> DeviceArray:
        """A copy of host values in host memory."""
        return from_host(self._memory, values)

    def zeros(self, shape: Any, dtype: Any) -> DeviceArray:
        """Zeroed host memory."""
        return allocate(self._memory, shape, dtype)

    def load(self, kernel: Kernel) -> None:
        """Does nothing: simulated kernels need no code."""

    def variable(self, kernel: Kernel, name: str, dtype: Any, shape: Any) -> DeviceArray:
        """Raises InvalidInput: simulated kernels have no variables.

        Raises:
            InvalidInput: always.
        """
        raise InvalidInput(f"variable {name!r}: {NO_VARIABLES}")

    def launch(
        self, kernel: Any, grid: Any, block: Any, shared_bytes: int, args: tuple[Any, ...], *, keeps: bool
    ) -> Submitted:
        """The core's launch of the kernel's model; the arguments are not checked."""
        return self._shapes.of(kernel, grid, block, shared_bytes)

    def core_launch(self, kernel: Any, grid: Any, block: Any, shared_bytes: int) -> _core.Launch:
        """The launch of the kernel's model."""
        return self._shapes.of(kernel, grid, block, shared_bytes).core

    def _shape(self, kernel: Any, grid: Any, block: Any, shared_bytes: int) -> Submitted:
        launch = Launch(kernel, grid=grid, block=block, shared_bytes=shared_bytes)
        core = launch.on(self.device.description)
        _core.require_runnable(self.device.description, core)
        return Submitted(launch, core, None, ())

    def alone_ns(self, name: str, launches: Sequence[Submitted]) -> int:
        """The runtime alone in simulated time, computed without waiting."""
        workload = _core.CoreWorkload("alone", [_core.Application(name, [each.core for each in launches])])
        record = _core.simulate([self.device.description], [workload], ["fifo"])
        return record.turnarounds[0]

    def conditions(self, workload: Workload, done: _core.CoreWorkload) -> Measured | None:
        """None: nothing was measured."""
        return None

    def check(self) -> None:
        """Does nothing: a simulated device cannot fail."""

    def forget(self) -> None:
        """Does nothing: there are no variables to release."""
