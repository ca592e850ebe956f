# SPDX-License-Identifier: Apache-2.0
"""One launch of a kernel, and how to tell whether its results are right."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

UNWRITTEN = 0xCD
"""Every byte of an output before the launch: an element that the kernel forgets is no zero that happens to be right."""


@dataclass(frozen=True, eq=False)
class Argument:
    """One parameter of the kernel: an array for a pointer, a NumPy scalar of the declared type for a value.

    A pointer to ``float4`` or ``uint4`` is an array with a last dimension of 4.
    """

    name: str
    value: np.ndarray | np.generic
    """What the parameter holds before the launch."""
    is_output: bool = False
    """Results are expected in it."""
    is_updated: bool = False
    """The kernel reads what it writes here, so it must hold ``value`` again before every launch."""


def output(name: str, shape: int | tuple[int, ...], dtype: type[np.generic]) -> Argument:
    """An argument that the kernel writes in full and does not read.

    >>> output("sums", 3, np.uint8).value
    array([205, 205, 205], dtype=uint8)
    """
    value = np.empty(shape, dtype)
    value.view(np.uint8).fill(UNWRITTEN)
    return Argument(name, value, is_output=True)


def grid_over(extent: tuple[int, ...], per_block: tuple[int, ...]) -> tuple[int, int, int]:
    """The smallest grid whose blocks cover the extent, x first.

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
    """By how much a result may differ from the expected one; 0 means not at all."""

    @cached_property
    def expected(self) -> dict[str, np.ndarray]:
        """The right value of every output, computed at first use: a large case may take a minute."""
        return self.reference()

    def mistakes(self, results: Mapping[str, np.ndarray]) -> list[str]:
        """What is wrong with the outputs of a launch, in words; nothing if they are right.

        Args:
            results: the outputs after the launch, by the names of the arguments.
        """
        found = (_mistake(name, results[name], right, self.tolerance) for name, right in self.expected.items())
        return [words for words in found if words]


def _mistake(name: str, result: np.ndarray, right: np.ndarray, tolerance: float) -> str:
    if (result.shape, result.dtype) != (right.shape, right.dtype):
        return f"{name}: {result.dtype} {result.shape} instead of {right.dtype} {right.shape}"
    # "not within" rather than "beyond", so that a NaN is a mistake.
    wrong = ~(np.abs(result - right) <= tolerance) if tolerance else result != right
    count = np.count_nonzero(wrong)
    if count == 0:
        return ""
    first = tuple(int(index) for index in np.unravel_index(np.argmax(wrong), wrong.shape))
    return f"{name}: {count} of {wrong.size} differ, first at {first}: {result[first]} instead of {right[first]}"
