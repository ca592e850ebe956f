# SPDX-License-Identifier: Apache-2.0
"""Mappings of shared arrays into the client's CUDA context, for PyTorch, CuPy and Numba."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from gpushare import _core
from gpushare._core import InvalidInput
from gpushare.daemon.protocol.wire import close_all

if TYPE_CHECKING:
    from gpushare.daemon.client.array import ArrayState, DaemonArray
    from gpushare.daemon.client.registrations import Registered

NOT_SHARED = (
    "other libraries cannot access this array, which is in the server's memory: make it with "
    "session.array(..., shared=True) or session.zeros(..., shared=True)"
)
DLPACK_CUDA = 2
DLPACK_KINDS = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}


class ArrayMapping:
    """A mapping of the memory in this process, which lasts as long as this object."""

    def __init__(self, memory: _core.SharedDeviceMemory) -> None:
        self._memory = memory
        self.address = memory.address

    def cuda_array_interface(self, shape: tuple[int, ...], dtype: np.dtype) -> dict[str, Any]:
        """Version 3 of Numba's protocol; the data is ready on every stream."""
        return {
            "shape": shape,
            "typestr": dtype.str,
            "data": (self.address, False),
            "version": 3,
            "strides": None,
            "stream": None,
        }

    def dlpack(self, owner: DaemonArray, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        """A DLPack capsule that references the owner.

        Raises:
            InvalidInput: DLPack has no such type.
        """
        if dtype.kind not in DLPACK_KINDS or not dtype.isnative:
            raise InvalidInput(f"DLPack has no type for {dtype}")
        kind = DLPACK_KINDS[dtype.kind]
        return _core.dlpack_capsule(owner, self.address, list(shape), kind, 8 * dtype.itemsize, self._memory.ordinal)

    @property
    def dlpack_device(self) -> tuple[int, int]:
        """DLPack's code for CUDA, and the GPU's number in this process."""
        return DLPACK_CUDA, self._memory.ordinal


def mapping_of(state: ArrayState, registered: Registered) -> ArrayMapping:
    """Maps the worker's array in this process.

    Raises:
        WorkerLostError: the array was lost with its worker.
        CudaError: this process cannot use the GPU; the message has the reason.
    """
    reply = registered.link.begin("export", array=state.handle_on(registered))
    exported = reply.result()
    try:
        (descriptor,) = reply.descriptors
        memory = _core.SharedDeviceMemory.imported(exported["uuid"], descriptor, exported["bytes"])
    finally:
        close_all(reply.descriptors)
    return ArrayMapping(memory)


class Mappings:
    """The mappings of this process, by address."""

    def __init__(self) -> None:
        self._arrays: weakref.WeakValueDictionary[int, DaemonArray] = weakref.WeakValueDictionary()
        self._lock = threading.Lock()

    def add(self, address: int, array: DaemonArray) -> None:
        """Adds an array that is mapped at this address."""
        with self._lock:
            self._arrays[address] = array

    def array_behind(self, value: Any) -> DaemonArray | None:
        """The array that starts at the address of a tensor of another library."""
        try:
            described = getattr(value, "__cuda_array_interface__", None)
        except Exception:  # PyTorch raises for a tensor that requires a gradient, for example
            return None
        return None if described is None else self._arrays.get(described["data"][0] or -1)


def require_whole(array: DaemonArray, tensor: Any) -> None:
    """Raises InvalidInput unless a tensor in the array's memory has its shape and type, in C order."""
    described = tensor.__cuda_array_interface__
    same = (tuple(described["shape"]), np.dtype(described["typestr"])) == (array.shape, array.dtype)
    if not same or described.get("strides") is not None:
        raise InvalidInput(
            f"this {type(tensor).__name__} is a part or another view of a shared array {array.shape} of {array.dtype}: "
            "pass the array itself, or a tensor of the whole array"
        )


mappings = Mappings()


def array_of(value: Any) -> Any:
    """The array's state for a tensor that is one of this process's shared arrays; else the value.

    Raises:
        InvalidInput: the tensor is a part or another view of one.
    """
    array = mappings.array_behind(value)
    if array is None:
        return value
    require_whole(array, value)
    return array._state
