# SPDX-License-Identifier: Apache-2.0
"""The session of a worker whose clients launch kernels, on a GPU or on a simulated device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpushare import _core
from gpushare.arguments.device_array import DeviceArray
from gpushare.arguments.launch_geometry import Extent
from gpushare.backends.base import AloneNs, Released
from gpushare.backends.choice import backend_named
from gpushare.backends.cuda.loaded_code import LoadedCode
from gpushare.daemon.worker.served_session import ServedSession
from gpushare.kernels.kernel import Kernel
from gpushare.kernels.module_variables import ModuleVariable
from gpushare.model.devices import chosen
from gpushare.model.kernel_model import KernelModel


class KernelSession(ServedSession):
    """Clients' kernels share the device of this name."""

    def __init__(self, device: str, policy: str, ordering: str) -> None:
        self._on = backend_named(chosen(device, "cuda:0")).served_device()
        super().__init__(self._on.device, self._on.open(policy, ordering), policy)

    @property
    def kernels(self) -> KernelSession:
        """Itself."""
        return self

    @property
    def loaded_kernels(self) -> int:
        """How many the GPU has, but for those with variables."""
        return self._on.loaded_kernels

    def new_code(self, take: Callable[[int], None]) -> LoadedCode | None:
        """Where a client's kernels are loaded, with variables of its own; None on a simulated device."""
        return self._on.new_code(take)

    def kernel(
        self,
        port: _core.ServerPort,
        kernel: Kernel | KernelModel,
        block: Extent,
        shared_bytes: int,
        alone: AloneNs | None,
        code: LoadedCode | None,
        released: Released,
    ) -> tuple[int, list[dict[str, Any]] | None]:
        """Registers the kernel in the port: :meth:`gpushare.backends.base.ServedDevice.add_kernel`."""
        return self._on.add_kernel(port, kernel, block, shared_bytes, alone, code, released)

    def model(
        self, kernel: Kernel | KernelModel, block: Extent, shared_bytes: int, code: LoadedCode | None
    ) -> _core.KernelModel:
        """The kernel as policies see it: :meth:`gpushare.backends.base.ServedDevice.model`."""
        return self._on.model(kernel, block, shared_bytes, code)

    def module_of(self, kernel: Kernel | KernelModel) -> str | None:
        """What tells its variables from those of others; None where it has none."""
        return self._on.module_of(kernel)

    def variable(
        self, kernel: Kernel | KernelModel, name: str, code: LoadedCode | None
    ) -> tuple[ModuleVariable, DeviceArray]:
        """A variable of a client's copy, and its bytes.

        Raises:
            InvalidInput: there is none of this name.
        """
        return self._on.variable(kernel, name, code)

    def zeros(self, shape: tuple[int, ...], dtype: Any) -> DeviceArray:
        """Zeroed device memory."""
        return self._on.zeros(shape, dtype)

    def address_of(self, array: DeviceArray) -> int:
        """The address that kernels get; not used on a simulated device."""
        return self._on.address_of(array)

    def load(self, kernel: Kernel, code: LoadedCode | None) -> _core.KernelCode | None:
        """Compiles the kernel and loads it now. On a GPU it is loaded as long as the caller keeps it."""
        return None if code is None else code.load(kernel)
