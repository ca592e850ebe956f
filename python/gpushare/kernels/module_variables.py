# SPDX-License-Identifier: Apache-2.0
"""Variables of a kernel's module in device memory, and their names."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpushare._core import InvalidInput
from gpushare.checks import MOST_BYTES, whole
from gpushare.kernels.entry_names import UNNAMED, demangled

DTYPES = {
    **{f".{kind}{8 * size}": f"{letter}{size}" for kind, letter in (("u", "u"), ("b", "u"), ("s", "i"))
       for size in (1, 2, 4, 8)},
    **{f".f{8 * size}": f"f{size}" for size in (2, 4, 8)},
}  # fmt: skip
"""NumPy types by PTX type; types that NumPy lacks are bytes."""


@dataclass(frozen=True)
class ModuleVariable:
    """A variable that persists between launches and can be set by the host.

    Attributes:
        symbol: its name in the machine code.
        type: element type in PTX: ``".u32"`` for an int, signed or not; ``".b8"`` for structs and for the arrays of
            CUDA C++, for which PTX has no more detail.
        extents: extents of an array; empty otherwise.
        bytes: its size.
        is_constant: only the host can set it.
        is_managed: it is declared ``__managed__``.
        is_written: a kernel of the source may write it.
        is_used: the compiled kernel, or a function that it may call, uses it.
    """

    symbol: str
    type: str
    extents: tuple[int, ...]
    bytes: int
    is_constant: bool = False
    is_managed: bool = False
    is_written: bool = True
    is_used: bool = True

    @property
    def name(self) -> str:
        """Its C++ name.

        >>> ModuleVariable("_ZN2ns5scaleE", ".f32", (), 4).name
        'ns::scale'
        """
        return UNNAMED.sub("", demangled(self.symbol) or self.symbol)

    def __str__(self) -> str:
        words = [f"{self.bytes} byte{'s' * (self.bytes != 1)}", *["constant"] * self.is_constant]
        return f"{self.name} ({', '.join(words)})"

    def described(self, dtype: Any, shape: Any) -> tuple[tuple[int, ...], np.dtype]:
        """Shape and type of the variable as an array.

        Raises:
            InvalidInput: the variable's size does not match.

        >>> weights = ModuleVariable("weights", ".b8", (16,), 16)
        >>> weights.described(None, None), weights.described("f4", None), weights.described("f4", (2, 2))
        (((16,), dtype('uint8')), ((4,), dtype('float32')), ((2, 2), dtype('float32')))
        """
        kind = self._dtype if dtype is None else np.dtype(dtype)
        if kind.hasobject or kind.itemsize == 0 or self.bytes % kind.itemsize != 0:
            raise InvalidInput(f"variable {self.name!r} has {self.bytes} bytes, which are no elements of dtype {kind}")
        extent = self._extent(kind) if shape is None else _sizes(shape)
        if math.prod(extent) * kind.itemsize != self.bytes:
            raise InvalidInput(f"variable {self.name!r} has {self.bytes} bytes, but {extent} of {kind} are not as many")
        return extent, kind

    @property
    def _dtype(self) -> np.dtype:
        return np.dtype(DTYPES.get(self.type, "u1"))

    def _extent(self, kind: np.dtype) -> tuple[int, ...]:
        if self.type in DTYPES and kind.itemsize == self._dtype.itemsize:
            return self.extents
        count = self.bytes // kind.itemsize
        return () if count == 1 and kind.itemsize > 1 else (count,)


def _sizes(shape: Any) -> tuple[int, ...]:
    sizes = shape if isinstance(shape, tuple | list) else (shape,)
    return tuple(whole("shape", size, 0, MOST_BYTES) for size in sizes)


def variable_named(wanted: Any, variables: Sequence[ModuleVariable], kernel: str) -> ModuleVariable:
    """The variable of this name: its symbol, its C++ name, or the last part of that if unambiguous.

    Raises:
        InvalidInput: there is none, or there are several; the message lists them.

    >>> found = variable_named("scale", [ModuleVariable("_ZN2ns5scaleE", ".f32", (), 4)], "k")
    >>> found.symbol
    '_ZN2ns5scaleE'
    """
    if not isinstance(wanted, str):
        raise InvalidInput(f"kernel {kernel!r}: a variable's name must be a text, got {wanted!r}")
    names = {each: each.name for each in variables}
    ways = (
        [each for each in variables if each.symbol == wanted],
        [each for each in variables if wanted in (names[each], demangled(each.symbol))],
        [each for each in variables if names[each].endswith(f"::{wanted}")],
    )
    found = next(filter(None, ways), [])
    if len(found) == 1:
        return found[0]
    if found:
        several = ", ".join(each.symbol for each in found)
        raise InvalidInput(f"kernel {kernel!r}: variable {wanted!r} may be any of: {several}; name one of them")
    listed = "; ".join(map(str, variables)) or "none"
    raise InvalidInput(
        f"kernel {kernel!r}: its source has no variable {wanted!r} that a kernel mentions; it has: {listed}"
    )
