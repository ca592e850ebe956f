# SPDX-License-Identifier: Apache-2.0
"""Caches the checked properties that launches of one kernel, grid and block share."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Generic, TypeVar

from gpushare.kernels.kernel import Kernel
from gpushare.model.kernel_model import KernelModel

KINDS = (Kernel, KernelModel)
MOST_SHAPES = 1024
Shape = TypeVar("Shape")


class LaunchShapes(Generic[Shape]):
    """A cache of the most recent launch shapes.

    Args:
        make: makes a shape from a kernel, a grid, a block and the bytes of shared memory.
    """

    def __init__(self, make: Callable[[Any, Any, Any, Any], Shape]) -> None:
        self._make = make
        self._known = lru_cache(MOST_SHAPES)(make)

    def of(self, kernel: Any, grid: Any, block: Any, shared_bytes: Any) -> Shape:
        """The shape, checked. The key holds types too: 1, True and 1.0 are equal keys, but True is no valid extent."""
        if isinstance(kernel, KINDS) and type(shared_bytes) is int and _is_plain(grid) and _is_plain(block):
            return self._known(kernel, grid, block, shared_bytes)
        return self._make(kernel, grid, block, shared_bytes)


def _is_plain(extent: Any) -> bool:
    if type(extent) is not tuple:
        return type(extent) is int
    for each in extent:  # noqa: SIM110 - a generator takes three times as long, with every launch
        if type(each) is not int:
            return False
    return True
