# SPDX-License-Identifier: Apache-2.0
"""Memory of arrays in a session with several devices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpushare._core import InvalidInput
from gpushare.arguments.device_array import DeviceArray

if TYPE_CHECKING:
    from gpushare.arguments.device_array import Memory
    from gpushare.session.devices import SessionPart


class PlacedMemory:
    """Host memory until an application uses it, and then memory of that application's device.

    Attributes:
        count: bytes.
        part: the device that has it; None: none yet.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self.part: SessionPart | None = None
        self._host: np.ndarray | None = None  # None: zeros
        self._memory: Memory | None = None

    @property
    def address(self) -> int:
        """Where kernels find it.

        Raises:
            InvalidInput: no device has it yet.
        """
        if self._memory is None:
            raise InvalidInput(
                "this array is on none of the session's devices yet: it gets one with the first launch that uses it, "
                "or is made by application.array(...)"
            )
        return self._memory.address

    @property
    def memory(self) -> Memory | None:
        """The device's memory; None: no device has it yet."""
        return self._memory

    def upload(self, source: np.ndarray, offset: int = 0) -> None:
        """Copies these bytes into it."""
        if self._memory is not None:
            return self._memory.upload(source, offset)
        if self._host is None:
            self._host = np.zeros(self.count, np.uint8)
        self._host[offset : offset + source.size] = source
        return None

    def download(self, target: np.ndarray, offset: int = 0) -> None:
        """Copies bytes out of it, as many as ``target`` holds."""
        if self._memory is not None:
            return self._memory.download(target, offset)
        target[:] = 0 if self._host is None else self._host[offset : offset + target.size]
        return None

    def go_to(self, part: SessionPart) -> None:
        """Allocates it on the device and copies its bytes there; it is on no device yet."""
        made = part.on.zeros(self.count, np.uint8) if self._host is None else part.on.array(self._host)
        self.lies_in(made.memory, part)
        self._host = None

    def lies_in(self, memory: Memory, part: SessionPart) -> None:
        """It is memory of this device."""
        self._memory, self.part = memory, part


class PlacedAllocator:
    """Allocates memory that is on no device yet."""

    def allocate(self, count: int, cleared: bool = True) -> PlacedMemory:
        """Allocates memory, which is always zeroed."""
        return PlacedMemory(count)


def placed_memory(value: Any) -> PlacedMemory | None:
    """The memory of an array of a session with several devices; None of anything else."""
    memory = getattr(value, "_memory", None)
    return memory if isinstance(memory, PlacedMemory) else None


def on_part(array: DeviceArray, part: SessionPart) -> DeviceArray:
    """The array, which is known to be on this device."""
    memory = PlacedMemory(array.nbytes)
    memory.lies_in(array.memory, part)
    return DeviceArray(memory, array.shape, array.dtype)
