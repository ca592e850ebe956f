# SPDX-License-Identifier: Apache-2.0
"""Base class of arrays in device memory: host computations on them raise an error."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from gpushare._core import InvalidInput

OPERATORS = (
    *("array", "array_ufunc", "array_function", "bool", "int", "float", "complex", "index", "len", "iter", "contains"),
    *("getitem", "setitem", "eq", "ne", "lt", "le", "gt", "ge", "neg", "pos", "abs", "invert"),
    *(
        f"{side}{name}"
        for side in ("", "r")
        for name in ("add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor")
    ),
)


class OnDevice:
    """An array that is in device memory.

    NumPy treats an unknown object as a scalar, and Python compares it by identity: ``np.sum(array)`` would be the
    array, and ``array == 1`` False. So NumPy's functions and all operators raise. As the key of a dict an array is
    compared by identity.
    """

    __hash__ = object.__hash__


def _refusing(name: str) -> Any:
    def refuse(self: OnDevice, *_: object, **__: object) -> NoReturn:
        raise TypeError(
            f"{self!r} is in device memory, where NumPy and Python's operators do not compute: take a copy in host "
            "memory, array.numpy()"
        )

    refuse.__name__ = refuse.__qualname__ = name
    return refuse


for _name in OPERATORS:
    setattr(OnDevice, f"__{_name}__", _refusing(f"__{_name}__"))


def host_array(values: Any, dtype: Any = None) -> np.ndarray:
    """The values as a contiguous array of this shape.

    Raises:
        InvalidInput: they have a mask, which device memory cannot represent.
        TypeError: they are in device memory.

    >>> host_array([[1, 2]]).shape, host_array(7).shape
    ((1, 2), ())
    """
    require_no_mask("the values", values)
    return np.asarray(values, dtype, order="C")


def require_no_mask(subject: str, values: Any) -> None:
    """Raises InvalidInput for NumPy's masked arrays."""
    if isinstance(values, np.ma.MaskedArray):
        raise InvalidInput(
            f"{subject} are a masked array, and device memory has no masks: take values.filled(...), or values.data"
        )
