# SPDX-License-Identifier: Apache-2.0
"""A simulated device, for the clients of a server."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from gpushare import _core
from gpushare._core import Device, InvalidInput
from gpushare.arguments.device_array import DeviceArray, allocate
from gpushare.arguments.launch_geometry import Extent
from gpushare.backends.base import AloneNs, Released, ServedDevice
from gpushare.backends.simulator.session import NO_VARIABLES, HostAllocator, SimulatedDevice
from gpushare.kernels.kernel import Kernel
from gpushare.model.kernel_model import KernelModel
from gpushare.model.operation import Launch

if TYPE_CHECKING:
    from gpushare.backends.cuda.loaded_code import LoadedCode


class ServedSimulator(ServedDevice):
    """A simulated device in the time of the wall clock."""

    def __init__(self, name: str, description: Device) -> None:
        self.device = SimulatedDevice(name, description)
        self._memory = HostAllocator()

    def open(self, policy: str, ordering: str) -> _core.SessionSink:
        """A session of the core under this policy, and this ordering."""
        return _core.SessionSink(self.device.description, policy, 0, 1.0, ordering)

    def new_code(self, take: Callable[[int], None]) -> None:
        """None: there is nothing to load."""

    def model(
        self, kernel: Kernel | KernelModel, block: Extent, shared_bytes: int, code: LoadedCode | None
    ) -> _core.KernelModel:
        """The kernel's own model, or that of its profile."""
        if isinstance(kernel, KernelModel):
            return kernel.on(self.device.description)
        launch = Launch(kernel, grid=1, block=block, shared_bytes=shared_bytes)
        return launch.model_on(self.device.description).on(self.device.description)

    def add_kernel(
        self,
        port: _core.ServerPort,
        kernel: Kernel | KernelModel,
        block: Extent,
        shared_bytes: int,
        alone: AloneNs | None,
        code: LoadedCode | None,
        released: Released,
    ) -> tuple[int, list[dict[str, Any]] | None]:
        """Registers the kernel's model with this block in the port; its arguments are not checked."""
        if isinstance(kernel, KernelModel):
            Launch(kernel, grid=1, block=block, shared_bytes=shared_bytes)
        return port.add_model(self.model(kernel, block, shared_bytes, code), alone, *released), None

    def module_of(self, kernel: Kernel | KernelModel) -> None:
        """None: kernels have no variables there."""

    def variable(self, kernel: Kernel | KernelModel, name: str, code: LoadedCode | None) -> NoReturn:
        """Nothing computes with it.

        Raises:
            InvalidInput: always.
        """
        raise InvalidInput(f"variable {name!r}: {NO_VARIABLES}")

    def zeros(self, shape: tuple[int, ...], dtype: Any) -> DeviceArray:
        """Zeroed host memory."""
        return allocate(self._memory, shape, dtype)

    def address_of(self, array: DeviceArray) -> int:
        """0: simulated kernels use no address."""
        return 0
