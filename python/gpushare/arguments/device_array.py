# SPDX-License-Identifier: Apache-2.0
"""Arrays in a GPU's memory."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Protocol

import numpy as np

from gpushare import _core
from gpushare._core import InvalidInput
from gpushare.arguments.on_device import OnDevice, host_array
from gpushare.checks import MOST_BYTES, whole


class Memory(Protocol):
    """Memory of an array, of a variable of a kernel's source, or of a simulated device."""

    @property
    def address(self) -> int:
        """Where kernels find it."""

    def upload(self, source: Any, offset: int = 0, /) -> None:
        """Copies the bytes of a buffer into it."""

    def download(self, target: Any, offset: int = 0, /) -> None:
        """Copies bytes out of it, as many as the buffer holds."""


class Allocator(Protocol):
    """A device, or what stands for its memory."""

    def allocate(self, count: int, cleared: bool, /) -> Memory:
        """Allocates so many bytes."""


class DeviceArray(OnDevice):
    """An array in device memory, which kernels take as a pointer.

    CuPy, PyTorch and Numba take it without a copy (``__cuda_array_interface__``): ``torch.as_tensor(array)``. NumPy and
    Python's operators raise a TypeError: use them with the result of :meth:`numpy`.

    Attributes:
        shape: its shape.
        dtype: data type of its elements.
    """

    def __init__(self, memory: Memory, shape: tuple[int, ...], dtype: np.dtype) -> None:
        self.shape = shape
        self.dtype = dtype
        self._memory: Memory | None = memory

    @property
    def nbytes(self) -> int:
        """Bytes in device memory."""
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def memory(self) -> Memory:
        """The array's memory.

        Raises:
            InvalidInput: it has been freed.
        """
        if self._memory is None:
            raise InvalidInput(f"this array {self.shape} of {self.dtype} has been freed: make another")
        return self._memory

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Version 3 of Numba's protocol; the data is ready on every stream."""
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.memory.address, False),
            "version": 3,
            "strides": None,
            "stream": None,
        }

    def upload(self, values: Any) -> None:
        """Copies host values of the same shape into it; they are converted to the array's type."""
        host = host_array(values, self.dtype)
        if host.shape != self.shape:
            raise InvalidInput(f"this array has shape {self.shape}, the values have {host.shape}")
        if host.size > 0:
            self.memory.upload(host.reshape(-1).view(np.uint8))

    def numpy(self) -> np.ndarray:
        """A copy in host memory. Jobs that write the array must have ended."""
        host = np.empty(self.shape, self.dtype)
        if host.size > 0:
            self.memory.download(host.reshape(-1).view(np.uint8))
        return host

    def free(self) -> None:
        """Frees the memory; the jobs that use it must have ended.

        A session that measures runtimes alone keeps the memory allocated until it has measured them.
        """
        self._memory = None

    def alias(self) -> DeviceArray:
        """Another array in the same memory, which is freed with the last of them."""
        return DeviceArray(self.memory, self.shape, self.dtype)

    def __repr__(self) -> str:
        return f"DeviceArray(shape={self.shape}, dtype={self.dtype})"


def allocate(device: Allocator, shape: int | tuple[int, ...], dtype: Any, *, cleared: bool = True) -> DeviceArray:
    """An array of zeros, or of undefined values; it may be empty.

    Raises:
        InvalidInput: the shape is not valid, or kernels have no such type.
    """
    extent = _extent(shape)
    kind = np.dtype(dtype)
    if kind.hasobject:
        raise InvalidInput(f"a GPU cannot hold Python objects: dtype {kind}")
    return DeviceArray(device.allocate(math.prod(extent) * kind.itemsize, cleared), extent, kind)


def _extent(shape: Any) -> tuple[int, ...]:
    sizes: Any = (shape,) if isinstance(shape, int | np.integer) else shape
    if isinstance(sizes, str | bytes) or not isinstance(sizes, Iterable):
        raise InvalidInput(f"shape must be a whole number or a list of them, got {shape!r}")
    return tuple(whole("shape", size, 0, MOST_BYTES) for size in sizes)


def from_host(device: Allocator, values: Any) -> DeviceArray:
    """Copies host values to device memory."""
    host = host_array(values)
    array = allocate(device, host.shape, host.dtype, cleared=False)
    array.upload(host)
    return array


class Kept:
    """A copy of an array's present contents, to be restored later.

    Args:
        device: the array's device.
        array: a contiguous object with ``__cuda_array_interface__``.
    """

    def __init__(self, device: _core.CudaDevice, array: Any) -> None:
        described = array.__cuda_array_interface__
        self._device = device
        self._array = array
        self._address = described["data"][0]
        self._bytes = math.prod(described["shape"]) * np.dtype(described["typestr"]).itemsize
        self._copy = device.allocate(self._bytes, cleared=False)
        if self._bytes > 0:
            device.copy(self._copy.address, self._address, self._bytes)

    def put_back(self) -> None:
        """Restores the array's contents."""
        if self._bytes > 0:
            self._device.copy(self._address, self._copy.address, self._bytes)
