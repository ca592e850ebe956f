# SPDX-License-Identifier: Apache-2.0
"""A GPU, for the clients of a server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np

from gpushare import _core
from gpushare._core import InvalidInput
from gpushare.arguments.device_array import DeviceArray, allocate
from gpushare.arguments.launch_geometry import Extent
from gpushare.backends.base import AloneNs, Released, ServedDevice
from gpushare.backends.cuda.device import CudaDevice
from gpushare.backends.cuda.loaded_code import LoadedCode
from gpushare.backends.cuda.session import estimates_for
from gpushare.kernels.kernel import Kernel
from gpushare.kernels.module_variables import ModuleVariable
from gpushare.model.kernel_model import KernelModel
from gpushare.model.operation import Launch


class ServedGpu(ServedDevice):
    """A GPU whose clients have kernels and variables of their own."""

    def __init__(self, device: CudaDevice) -> None:
        self.device = device

    @property
    def loaded_kernels(self) -> int:
        """How many the GPU has, but for those with variables."""
        return self.device.loaded_kernels

    def open(self, policy: str, ordering: str) -> _core.SessionSink:
        """A session of the core under this policy, and this ordering."""
        return _core.SessionSink(self.device.core, policy, ordering, estimates_for(self.device, ordering))

    def new_code(self, take: Callable[[int], None]) -> LoadedCode:
        """Where a client's kernels are loaded, with variables of its own."""
        return LoadedCode(self.device, take, keeps_all=False)

    def model(
        self, kernel: Kernel | KernelModel, block: Extent, shared_bytes: int, code: LoadedCode | None
    ) -> _core.KernelModel:
        """The kernel as policies see it; :meth:`add_kernel` refuses models."""
        if isinstance(kernel, KernelModel):
            return kernel.on(self.device.description)
        launch = Launch(kernel, grid=1, block=block, shared_bytes=shared_bytes)
        return self.device.model(launch, code and code.load(kernel))

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
        """Loads it, and makes the port know it with this block."""
        if isinstance(kernel, KernelModel):
            raise InvalidInput(f"{kernel.name!r} is a model of a kernel, for simulated devices: a GPU runs a gs.Kernel")
        assert code is not None
        loaded = code.load(kernel)
        model = self.device.model(Launch(kernel, grid=1, block=block, shared_bytes=shared_bytes), loaded)
        parameters = self.device.compiled(kernel).parameters
        total = max((each.offset + each.size for each in parameters), default=0)
        places = [(each.offset, each.size) for each in parameters]
        pointers = [each.offset for each in parameters if each.kind == "pointer"]
        handle = port.add_cuda_kernel(model, total, loaded, block, shared_bytes, places, pointers, alone, *released)
        return handle, [asdict(each) for each in parameters]

    def module_of(self, kernel: Kernel | KernelModel) -> str | None:
        """What tells its variables from those of others; None where it has none."""
        return None if isinstance(kernel, KernelModel) else self.device.compiled(kernel).module

    def variable(
        self, kernel: Kernel | KernelModel, name: str, code: LoadedCode | None
    ) -> tuple[ModuleVariable, DeviceArray]:
        """A variable of a client's copy, and its bytes."""
        if code is None or isinstance(kernel, KernelModel):
            raise InvalidInput(f"variable {name!r}: a model of a kernel has no variables")
        found, module = code.found_variable(kernel, name)
        return found, module.array(found, np.uint8)

    def zeros(self, shape: tuple[int, ...], dtype: Any) -> DeviceArray:
        """Zeroed device memory."""
        return allocate(self.device.core, shape, dtype)

    def address_of(self, array: DeviceArray) -> int:
        """What kernels are given."""
        return array.memory.address
