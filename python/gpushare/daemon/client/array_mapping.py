# SPDX-License-Identifier: Apache-2.0
"""A shared array in the client's own CUDA context, where PyTorch, CuPy and Numba see it."""

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
    "this array is the server's alone, other libraries cannot see it: make it with session.array(..., shared=True) or "
    "session.zeros(..., shared=True)"
)
DLPACK_CUDA = 2
DLPACK_KINDS = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}


class ArrayMapping:
    """The memory, mapped in this process as long as this object is there."""

    def __init__(self, memory: _core.SharedDeviceMemory) -> None:
        self._memory = memory
        self.address = memory.address

    def cuda_array_interface(self, shape: tuple[int, ...], dtype: np.dtype) -> dict[str, Any]:
        """Version 3 of Numba's protocol; the data is ready, whatever the stream."""
        return {
            "shape": shape,
            "typestr": dtype.str,
            "data": (self.address, False),
            "version": 3,
            "strides": None,
            "stream": None,
        }

    def dlpack(self, owner: DaemonArray, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        """A capsule that keeps the owner.

        Raises:
            InvalidInput: DLPack has no such type.
        """
        if dtype.kind not in DLPACK_KINDS or not dtype.isnative:
            raise InvalidInput(f"DLPack has no type for {dtype}")
        kind = DLPACK_KINDS[dtype.kind]
        return _core.dlpack_capsule(owner, self.address, list(shape), kind, 8 * dtype.itemsize, self._memory.ordinal)

    @property
    def dlpack_device(self) -> tuple[int, int]:
        """CUDA, and the number of the GPU in this process."""
        return DLPACK_CUDA, self._memory.ordinal


def mapping_of(state: ArrayState, registered: Registered) -> ArrayMapping:
    """Maps the array that the worker has.

    Raises:
        WorkerLostError: it was lost with its worker.
        CudaError: this process cannot use the GPU; the message says why.
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
    """What is mapped in this process, by address."""

    def __init__(self) -> None:
        self._arrays: weakref.WeakValueDictionary[int, DaemonArray] = weakref.WeakValueDictionary()
        self._lock = threading.Lock()

    def add(self, address: int, array: DaemonArray) -> None:
        """It begins there."""
        with self._lock:
            self._arrays[address] = array

    def array_behind(self, value: Any) -> DaemonArray | None:
        """The array whose memory a tensor of another library is, from its beginning on."""
        try:
            described = getattr(value, "__cuda_array_interface__", None)
        except Exception:  # PyTorch: of a tensor that requires a gradient, for one
            return None
        return None if described is None else self._arrays.get(described["data"][0] or -1)


def require_whole(array: DaemonArray, tensor: Any) -> None:
    """Raise InvalidInput unless a tensor on the array's memory has its shape and type, in C order."""
    described = tensor.__cuda_array_interface__
    same = (tuple(described["shape"]), np.dtype(described["typestr"])) == (array.shape, array.dtype)
    if not same or described.get("strides") is not None:
        raise InvalidInput(
            f"this {type(tensor).__name__} is a part or another view of a shared array {array.shape} of {array.dtype}: "
            "hand over the array itself, or the tensor as it was made of it"
        )


mappings = Mappings()


def array_of(value: Any) -> Any:
    """The array's state where a tensor of another library is one of this process's shared arrays; else the value.

    Raises:
        InvalidInput: it is only a part or another view of one.
    """
    array = mappings.array_behind(value)
    if array is None:
        return value
    require_whole(array, value)
    return array._state
