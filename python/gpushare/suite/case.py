# SPDX-License-Identifier: Apache-2.0
"""A case: one launch of a kernel, with its expected results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

UNWRITTEN = 0xCD
"""The value of every byte of an output before the launch, so that an element which the kernel skips is not 0 by chance.
"""


@dataclass(frozen=True, eq=False)
class Argument:
    """One parameter of the kernel: an array for a pointer, a NumPy scalar of the declared type for a value.

    A pointer to ``float4`` or ``uint4`` is an array with a last dimension of 4.
    """

    name: str
    value: np.ndarray | np.generic
    """Its value before the launch."""
    is_output: bool = False
    """Whether it has expected results."""
    is_updated: bool = False
    """Whether the kernel also reads it, so that ``value`` must be restored before every launch."""


def output(name: str, shape: int | tuple[int, ...], dtype: type[np.generic]) -> Argument:
    """An argument that the kernel writes in full and does not read.

    >>> output("sums", 3, np.uint8).value
    array([205, 205, 205], dtype=uint8)
    """
    value = np.empty(shape, dtype)
    value.view(np.uint8).fill(UNWRITTEN)
    return Argument(name, value, is_output=True)


def grid_over(extent: tuple[int, ...], per_block: tuple[int, ...]) -> tuple[int, int, int]:
    """The smallest grid with blocks that cover the extent, x first.

    >>> grid_over((100, 64), (32, 32))
    (4, 2, 1)
    """
    x, y, z = [-(-size // covered) for size, covered in zip(extent, per_block, strict=True)] + [1] * (3 - len(extent))
    return x, y, z


@dataclass(frozen=True, eq=False)
class Case:
    """A launch of a kernel on given data."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    arguments: list[Argument]
    """In the order of the kernel's parameters."""
    reference: Callable[[], dict[str, np.ndarray]]
    """Computes ``expected``."""
    shared_bytes: int = 0
    """Dynamic shared memory of a block."""
    tolerance: float = 0.0
    """Largest difference of a result from the expected one; 0: equality."""

    @cached_property
    def expected(self) -> dict[str, np.ndarray]:
        """The expected value of every output, computed at first use: a large case may take a minute."""
        return self.reference()

    def mistakes(self, results: Mapping[str, np.ndarray]) -> list[str]:
        """The errors in the outputs of a launch, as texts; empty if they are right.

        Args:
            results: the outputs after the launch, by the names of the arguments.
        """
        found = (_mistake(name, results[name], right, self.tolerance) for name, right in self.expected.items())
        return [words for words in found if words]


def _mistake(name: str, result: np.ndarray, right: np.ndarray, tolerance: float) -> str:
    if (result.shape, result.dtype) != (right.shape, right.dtype):
        return f"{name}: {result.dtype} {result.shape} instead of {right.dtype} {right.shape}"
    # "not within" rather than "beyond", so that a NaN is a mistake
    wrong = ~(np.abs(result - right) <= tolerance) if tolerance else result != right
    count = np.count_nonzero(wrong)
    if count == 0:
        return ""
    first = tuple(int(index) for index in np.unravel_index(np.argmax(wrong), wrong.shape))
    return f"{name}: {count} of {wrong.size} differ, first at {first}: {result[first]} instead of {right[first]}"
