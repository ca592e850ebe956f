# SPDX-License-Identifier: Apache-2.0
"""Arrays that a client maps into its own CUDA context: the driver frees the memory when both sides have."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np

from gpushare import _core
from gpushare._core import InvalidInput
from gpushare.arguments.device_array import DeviceArray
from gpushare.daemon.protocol.messages import ExportArray
from gpushare.daemon.worker.served_client import ServedClient


def taken_by_shared(device: Any, amount: int) -> int:
    """Bytes of device memory of a shared array of this size.

    Raises:
        InvalidInput: memory of this device cannot be shared.
    """
    return _core.SharedDeviceMemory.rounded_up(_cuda(device), amount)


def shared_zeros(device: Any, shape: tuple[int, ...], dtype: np.dtype) -> DeviceArray:
    """Allocates zeroed memory that clients can map."""
    memory = _core.SharedDeviceMemory(_cuda(device), math.prod(shape) * dtype.itemsize)
    return DeviceArray(memory, shape, dtype)


def export(client: ServedClient, request: ExportArray, number: int, _descriptors: list[int]) -> None:
    """Sends the descriptor with the answer."""
    served = client.arrays[request.array]
    array = served.use()
    try:
        memory = array.memory
        if not isinstance(memory, _core.SharedDeviceMemory):
            raise InvalidInput(f"array {request.array} was not made with shared=True")
        descriptor = memory.descriptor()
        try:
            client.reply(number, {"bytes": memory.bytes, "uuid": memory.uuid}, [descriptor])
        finally:
            os.close(descriptor)
    finally:
        served.used()


def _cuda(device: Any) -> _core.CudaDevice:
    core = getattr(device, "core", None)
    if not isinstance(core, _core.CudaDevice):
        raise InvalidInput("shared=True is for GPUs: no other process can map the memory of a simulated device")
    return core
