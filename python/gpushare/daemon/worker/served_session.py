# SPDX-License-Identifier: Apache-2.0
"""What a worker's clients share: a session whose launches come through their rings, without Python on the way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np

from gpushare import _core
from gpushare._core import InvalidInput
from gpushare.backends.cuda.device_array import DeviceArray
from gpushare.backends.cuda.loaded_code import LoadedCode
from gpushare.kernels.kernel import Kernel
from gpushare.kernels.module_variables import ModuleVariable
from gpushare.model.kernel_model import KernelModel
from gpushare.model.launch_geometry import Extent
from gpushare.model.operation import Launch
from gpushare.model.service_level import Terms
from gpushare.session.device import GpuInSession, estimates_for, session_device
from gpushare.session.simulated_device import NO_VARIABLES, of_model

AloneNs = tuple[float, float]
"""Per block with the whole device at work, and of the first one."""
Released = tuple[Callable[[], None], _core.ReleaseQueue]
"""What is called when a port has a kernel no more, and no launch, and the queue by way of which."""


class ServedSession:
    """On a GPU, or a simulated one in the time of the wall clock.

    Attributes:
        device: what users see of it.
        sink: takes what comes through the rings.
    """

    def __init__(self, device: str, policy: str, ordering: str) -> None:
        self._on = session_device(device, 1.0)
        self._policy = policy
        self.device = self._on.device
        self._is_gpu = isinstance(self._on, GpuInSession)
        if self._is_gpu:
            estimates = estimates_for(self.device, ordering)
            self.sink = _core.SessionSink(self.device.core, policy, ordering, estimates)
        else:
            self.sink = _core.SessionSink(self.device.description, policy, 0, 1.0, ordering)

    def application(
        self, name: str, priority: int, terms: Terms, owner: str, owner_weight: float
    ) -> _core.ServedApplication:
        """A new one of this owner's, as ports take it.

        Raises:
            PolicyError: the policy has no use for this priority.
        """
        _core.require_priority(self._policy, name, priority)
        given = terms.core | {"owner": owner, "owner_weight": owner_weight}
        return self.sink.application(_core.Application(name, [], priority=priority, **given))

    def set_priority(self, application: _core.ServedApplication, priority: int) -> None:
        """From now on."""
        _core.require_priority(self._policy, application.name, priority)
        application.set_priority(priority)

    def new_code(self, take: Callable[[int], None]) -> LoadedCode | None:
        """Where a client's kernels are loaded, with variables of its own; none on a simulated device.

        Args:
            take: is told of their bytes, and may refuse them.
        """
        return LoadedCode(self.device, take, keeps_all=False) if self._is_gpu else None

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
        """Makes the port know it with this block: its handle there, and its parameters, where somebody looks at them.

        Raises:
            InvalidInput: this device cannot run it so.
            CompileError: it does not compile.
        """
        if code is None:
            return port.add_model(self._model(kernel, block, shared_bytes), alone, *released), None
        if isinstance(kernel, KernelModel):
            raise InvalidInput(f"{kernel.name!r} is a model of a kernel, for simulated devices: a GPU runs a gs.Kernel")
        loaded = code.load(kernel)
        model = self.device.model(Launch(kernel, grid=1, block=block, shared_bytes=shared_bytes), loaded)
        parameters = self.device.compiled(kernel).parameters
        total = max((each.offset + each.size for each in parameters), default=0)
        places = [(each.offset, each.size) for each in parameters]
        pointers = [each.offset for each in parameters if each.kind == "pointer"]
        handle = port.add_cuda_kernel(model, total, loaded, block, shared_bytes, places, pointers, alone, *released)
        return handle, [asdict(each) for each in parameters]

    @property
    def loaded_kernels(self) -> int:
        """How many the GPU has, but for those with variables."""
        return self.device.loaded_kernels if self._is_gpu else 0

    def module_of(self, kernel: Kernel | KernelModel) -> str | None:
        """What tells its variables from those of others; None where it has none."""
        if not self._is_gpu or isinstance(kernel, KernelModel):
            return None
        return self.device.compiled(kernel).module

    def variable(
        self, kernel: Kernel | KernelModel, name: str, code: LoadedCode | None
    ) -> tuple[ModuleVariable, DeviceArray]:
        """A variable of a client's copy, and its bytes.

        Raises:
            InvalidInput: there is none of this name.
        """
        if code is None or isinstance(kernel, KernelModel):
            raise InvalidInput(f"variable {name!r}: {NO_VARIABLES}")
        found, module = code.found_variable(kernel, name)
        return found, module.array(found, np.uint8)

    def _model(self, kernel: Kernel | KernelModel, block: Extent, shared_bytes: int) -> _core.KernelModel:
        description = self.device.description
        if isinstance(kernel, KernelModel):
            return of_model(kernel, 1, block, shared_bytes).kernel.on(description)
        return Launch(kernel, grid=1, block=block, shared_bytes=shared_bytes).model_on(description).on(description)

    def zeros(self, shape: tuple[int, ...], dtype: Any) -> DeviceArray:
        """Zeroed device memory."""
        return self._on.zeros(shape, dtype)

    def address_of(self, array: DeviceArray) -> int:
        """What kernels are given; on a simulated device nothing looks at it."""
        return array.memory.address if self._is_gpu else 0

    def load(self, kernel: Kernel, code: LoadedCode | None) -> _core.KernelCode | None:
        """Compiles the kernel and loads it now. On a GPU it is loaded as long as the caller keeps it."""
        return None if code is None else code.load(kernel)

    def set_policy(self, policy: str) -> None:
        """Another policy from now on."""
        self.sink.session.set_policy(policy)
        self._policy = policy

    def status(self) -> _core.SessionStatus:
        """What is going on."""
        return self.sink.session.status()

    def history(self, seconds: float) -> _core.SessionPast:
        """What was done in these last seconds."""
        return self.sink.session.history(round(seconds * 1e9))

    def raise_failure(self, timeout_s: float) -> None:
        """Raises what the session has failed with, once it has."""
        self.sink.raise_failure(timeout_s)
