# SPDX-License-Identifier: Apache-2.0
"""Host arrays in memory that the worker maps and pins: they are copied to and from the device without pieces."""

from __future__ import annotations

import math
import weakref
from typing import Any

import numpy as np

from gpushare.checks import require
from gpushare.daemon.protocol.arena import Arena


class PinnedBlock:
    """The memory of a pinned array, which lasts as long as any view of it."""

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype) -> None:
        self.arena = Arena.made(math.prod(shape) * dtype.itemsize)
        self.address = np.frombuffer(self.arena.view, np.uint8).__array_interface__["data"][0]
        self._shape = shape
        self._dtype = dtype

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """NumPy references this object from the arrays that it makes of it."""
        return {"version": 3, "shape": self._shape, "typestr": self._dtype.str, "data": (self.address, False)}

    def contains(self, address: int, size: int) -> bool:
        """Whether all of these bytes are in the block."""
        return self.address <= address and address + size <= self.address + self.arena.size


_blocks: weakref.WeakSet[PinnedBlock] = weakref.WeakSet()


def pinned_array(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """A new pinned array of zeros."""
    require(dtype.kind in "biufc", f"a pinned array holds numbers, not {dtype}")
    block = PinnedBlock(shape, dtype)
    _blocks.add(block)
    return np.asarray(block)


def pinned_block_of(values: np.ndarray) -> tuple[PinnedBlock, int] | None:
    """The block that holds these contiguous bytes, and their offset; None: they are in ordinary memory."""
    address = values.__array_interface__["data"][0]
    for block in list(_blocks):
        if block.contains(address, values.nbytes):
            return block, address - block.address
    return None
