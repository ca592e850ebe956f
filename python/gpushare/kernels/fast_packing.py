# SPDX-License-Identifier: Apache-2.0
"""Fast path of argument packing: arguments of exactly the types of their parameters."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from gpushare.arguments.device_array import DeviceArray
from gpushare.kernels.argument_packing import FLOAT_FORMATS, integer_range, pack, pointee_type
from gpushare.kernels.parameters import SCALARS, Parameter

Quick = Callable[[Any], bytes | None]
"""Packs one argument; None means that :func:`pack` must check it."""


class QuickPacking:
    """Packs the arguments of one kernel's launches; calls :func:`pack` where one is unusual or wrong."""

    def __init__(self, kernel: str, parameters: Sequence[Parameter]) -> None:
        self._kernel = kernel
        self._parameters = parameters
        self._quick = [_quick(each) for each in parameters]

    def pack(self, arguments: Sequence[Any]) -> list[bytes]:
        """One little-endian value per parameter.

        Raises:
            InvalidInput: an argument does not fit its parameter; the message names it.
        """
        if len(arguments) == len(self._quick):
            packed = [quick(value) for quick, value in zip(self._quick, arguments, strict=True)]
            if None not in packed:
                return cast("list[bytes]", packed)
        return pack(self._kernel, self._parameters, arguments)


def _quick(parameter: Parameter) -> Quick:
    if parameter.kind == "pointer":
        return _pointer(parameter)
    if parameter.kind == "integer":
        return _integer(parameter)
    return _float(parameter) if parameter.kind == "float" else lambda value: None


def _pointer(parameter: Parameter) -> Quick:
    element = pointee_type(parameter)
    if not element and parameter.type != "void*":
        return lambda value: None
    dtype, address = np.dtype(element) if element else None, struct.Struct("<Q").pack

    def quick(value: Any) -> bytes | None:
        if type(value) is not DeviceArray or (dtype is not None and value.dtype != dtype):
            return None
        memory = value._memory
        return None if memory is None else address(memory.address or 0)

    return quick


def _integer(parameter: Parameter) -> Quick:
    least, most = integer_range(parameter)
    size, mask, scalar = parameter.size, (1 << 8 * parameter.size) - 1, _scalar(parameter)

    def quick(value: Any) -> bytes | None:
        if type(value) is int and least <= value <= most:
            return (value & mask).to_bytes(size, "little")
        return value.tobytes() if type(value) is scalar else None

    return quick


def _float(parameter: Parameter) -> Quick:
    as_bytes, scalar = struct.Struct(FLOAT_FORMATS[parameter.size]).pack, _scalar(parameter)

    def quick(value: Any) -> bytes | None:
        if type(value) is float:
            try:
                return as_bytes(value)
            except OverflowError:
                return None
        return value.tobytes() if type(value) is scalar else None

    return quick


def _scalar(parameter: Parameter) -> type[np.generic] | None:
    """The NumPy scalar type that matches the parameter exactly."""
    return np.dtype(SCALARS[parameter.type]).type if parameter.type in SCALARS else None
