# SPDX-License-Identifier: Apache-2.0
"""Workloads prepared for a GPU: kernels loaded, arrays uploaded, operations in the core's form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from gpushare import _core
from gpushare.arguments.device_array import DeviceArray, Kept, allocate, from_host
from gpushare.arguments.launch_arguments import Zeros
from gpushare.backends.cuda.copies import BufferPool
from gpushare.backends.cuda.device import CudaDevice
from gpushare.backends.cuda.loaded_code import LoadedCode
from gpushare.model.workload import Copy, Launch, Workload


class LoadedLaunch:
    """A launch with its kernel and data on the GPU."""

    def __init__(self, device: CudaDevice, launch: Launch, code: LoadedCode | None = None) -> None:
        self.launch = launch
        self.code = (code or device.own).load(launch.cuda.kernel)
        self.compiled = device.compiled(launch.cuda.kernel)
        self.arguments = [_on_device(device, value) for value in launch.build_arguments()]
        self._restore = [self._restorer(device, index) for index in range(len(self.arguments))]
        self.packed = self.compiled.pack(self.arguments)

    @property
    def is_preemptible(self) -> bool:
        """Whether it has a worker, and an SM has room for the worker's blocks."""
        return self.code.can_be_worker(self.launch.cuda.block, self.launch.shared_bytes)

    def restore(self) -> None:
        """Restores every array to its initial contents, because kernels may change their inputs."""
        for restore in self._restore:
            restore()

    def _restorer(self, device: CudaDevice, index: int) -> Callable[[], None]:
        array = self.arguments[index]
        if not isinstance(array, DeviceArray) or _is_const(self.compiled.parameters[index].type):
            return lambda: None
        return Kept(device.core, array).put_back


def _on_device(device: CudaDevice, value: Any) -> Any:
    if isinstance(value, Zeros):
        return allocate(device.core, value.shape, value.dtype)
    return from_host(device.core, value) if isinstance(value, np.ndarray) else value


def _is_const(parameter_type: str) -> bool:
    return "const" in parameter_type.rsplit("*", 1)[0] and parameter_type.count("*") == 1


class CudaWorkload:
    """A workload on one GPU. Applications with equal launches share kernels and data (``loaded``).

    Args:
        device: the device.
        workload: the workload; it cannot have launches of a :class:`gpushare.KernelModel`.
        loaded: launches that are already on the device.
        alone_ns: per application, the time alone of every operation, where it is known (oracle policies use it).
        buffers: buffers for its copies; by default separate ones.
        code: loaded code to use, where the contents of variables matter.
    """

    def __init__(
        self,
        device: CudaDevice,
        workload: Workload,
        loaded: dict[Launch, LoadedLaunch],
        alone_ns: Mapping[str, Iterable[int | None]] | None = None,
        buffers: BufferPool | None = None,
        code: LoadedCode | None = None,
    ) -> None:
        self.device = device
        self.workload = workload
        self.loaded = loaded
        self.program = _core.CudaProgram()
        self._buffers = buffers or BufferPool(device)
        self._code = code or device.own
        self._copies: Counter[int] = Counter()
        workload.require_real()
        self.core = workload.core(self._operation, alone_ns)
        self.core.validate(device.description)

    def launches(self) -> Iterable[LoadedLaunch]:
        """The launches of this workload, each once."""
        operations = [operation for each in self.workload.applications for operation in each.operations]
        return [self.loaded[operation] for operation in dict.fromkeys(operations) if isinstance(operation, Launch)]

    def restore(self) -> None:
        """Restores the data to its state before the first run."""
        for launch in self.launches():
            launch.restore()
        self._code.put_back_first_values()

    def _operation(self, operation: Launch | Copy, alone_ns: int | None) -> _core.Launch | _core.Copy:
        if isinstance(operation, Copy):
            core = operation.on()
            buffers = self._buffers.get(self._copies[operation.bytes], operation.bytes)
            self._copies[operation.bytes] += 1
            self.program.add_copy(buffers, core.direction)
            return core
        if operation not in self.loaded:
            self.loaded[operation] = LoadedLaunch(self.device, operation, self._code)
        loaded = self.loaded[operation]
        _, grid, block = operation.cuda
        self.program.add_launch(loaded.code, grid, block, operation.shared_bytes, loaded.packed)
        return _core.Launch(self.device.model(operation, loaded.code), operation.blocks, alone_ns=alone_ns)
