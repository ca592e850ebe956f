# SPDX-License-Identifier: Apache-2.0
"""Packs launch arguments into bytes for the driver, checked against the kernel's parameters."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from gpushare._core import InvalidInput
from gpushare.arguments.on_device import OnDevice
from gpushare.kernels.parameters import SCALARS, Parameter

FLOAT_FORMATS = {2: "<e", 4: "<f", 8: "<d"}


def pack(kernel: str, parameters: Sequence[Parameter], arguments: Sequence[Any]) -> list[bytes]:
    r"""One little-endian value per parameter.

    Raises:
        InvalidInput: an argument does not fit its parameter; the message names it.

    >>> parameters = [Parameter(0, None, "int", "integer", 4, 0), Parameter(1, "scale", "float", "float", 4, 4)]
    >>> pack("k", parameters, [7, np.float32(0.5)])
    [b'\x07\x00\x00\x00', b'\x00\x00\x00?']
    """
    if len(arguments) != len(parameters):
        takes = f"{len(parameters)} argument{'s' * (len(parameters) != 1)}"
        types = f" ({', '.join(map(str, parameters))})" if parameters else ""
        raise InvalidInput(f"kernel {kernel!r} takes {takes}{types}, got {len(arguments)}")
    return [_packed(_Place(kernel, each), value) for each, value in zip(parameters, arguments, strict=True)]


class _Place:
    """A parameter, and the error message for an argument that does not fit."""

    def __init__(self, kernel: str, parameter: Parameter) -> None:
        self.parameter = parameter
        self.subject = f"kernel {kernel!r}, argument {parameter.index + 1} ({parameter})"

    def refuse(self, reason: str) -> NoReturn:
        raise InvalidInput(f"{self.subject}: {reason}")


def _packed(place: _Place, value: Any) -> bytes:
    parameter = place.parameter
    if parameter.kind == "pointer":
        return _address(place, value)
    if parameter.type == ".u64" and _device_interface(place, value) is not None:
        return _address(place, value)
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if parameter.kind == "struct":
        return _struct(place, value)
    if isinstance(value, np.generic):
        return _numpy_scalar(place, value)
    return _integer(place, value) if parameter.kind == "integer" else _float(place, value)


def _device_interface(place: _Place, value: Any) -> dict[str, Any] | None:
    try:
        interface = getattr(value, "__cuda_array_interface__", None)
    except Exception as error:  # PyTorch raises for a tensor that requires a gradient, for example
        place.refuse(f"this {type(value).__name__} cannot be passed to a kernel: {error}")
    return interface


def _address(place: _Place, value: Any) -> bytes:
    if value is None:
        return bytes(8)
    interface = _device_interface(place, value)
    if interface is None:
        _refuse_as_pointer(place, value)
    address, read_only = interface["data"]
    if interface.get("mask") is not None:
        place.refuse("arrays with a mask are not supported")
    _check_contiguous(place, interface)
    _check_pointee(place, np.dtype(interface["typestr"]), read_only)
    return struct.pack("<Q", address or 0)


def _refuse_as_pointer(place: _Place, value: Any) -> NoReturn:
    if isinstance(value, OnDevice):
        place.refuse(f"{value!r} belongs to another session")
    if isinstance(value, np.ndarray) or hasattr(value, "__array_interface__") or hasattr(value, "__array__"):
        place.refuse(f"a {type(value).__name__} in host memory; copy it to the device with session.array(...) first")
    place.refuse(
        f"expected an array in device memory (session.array(...), or anything with __cuda_array_interface__), "
        f"got {value!r}"
    )


def _check_contiguous(place: _Place, interface: dict[str, Any]) -> None:
    shape, strides = interface["shape"], interface.get("strides")
    if strides is None or 0 in shape:
        return
    expected = np.dtype(interface["typestr"]).itemsize
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size != 1 and stride != expected:
            place.refuse(f"the array of shape {tuple(shape)} is not contiguous; pass its .contiguous() copy")
        expected *= size


def _pointee(parameter: Parameter) -> str:
    return parameter.type.removesuffix("*").removesuffix("&").strip()


def _plain(pointee: str) -> str:
    return re.sub(r"\b(const|volatile|__restrict__)\b", "", pointee).strip()


def pointee_type(parameter: Parameter) -> str:
    """The element type of arrays for a pointer, as NumPy writes it; "" where several types are accepted.

    >>> pointee_type(Parameter(0, None, "float const*", "pointer", 8, 0))
    '<f4'
    """
    plain = _plain(_pointee(parameter))
    return np.dtype(SCALARS[plain]).str if plain in SCALARS and plain != "char" else ""


def is_of_bytes(parameter: Parameter) -> bool:
    """Whether it is a pointer to ``char``, which takes arrays of any type of one byte."""
    return parameter.kind == "pointer" and _plain(_pointee(parameter)) == "char"


def _check_pointee(place: _Place, dtype: np.dtype[Any], read_only: bool) -> None:
    pointee = _pointee(place.parameter)
    if place.parameter.kind != "pointer" or pointee == "void":
        return
    plain = _plain(pointee)
    if read_only and not re.search(r"\bconst$", pointee):
        place.refuse("the array is read-only, but the kernel may write to it")
    known = SCALARS.get(plain)
    if known is not None and dtype != np.dtype(known) and not (plain == "char" and dtype.itemsize == 1):
        place.refuse(f"expected an array of {np.dtype(known)}, got one of {dtype}")


def _struct(place: _Place, value: Any) -> bytes:
    size = place.parameter.size
    if not isinstance(value, bytes | bytearray | memoryview | np.generic):
        place.refuse(f"expected {size} bytes or a NumPy scalar of that size (a structured one for a struct)")
    content = value.tobytes() if isinstance(value, memoryview | np.generic) else bytes(value)
    if len(content) != size:
        place.refuse(f"expected {size} bytes, got {len(content)}")
    return content


def _numpy_scalar(place: _Place, value: np.generic) -> bytes:
    parameter = place.parameter
    known = SCALARS.get(parameter.type)
    if known is not None:
        fits = value.dtype == np.dtype(known) or (parameter.type == "char" and value.dtype == np.uint8)
        expected = str(np.dtype(known))
    else:
        kinds = "f" if parameter.kind == "float" else "iub"
        fits = value.dtype.kind in kinds and value.dtype.itemsize == parameter.size
        expected = f"{parameter.size} bytes of kind {parameter.kind}"
    if not fits:
        place.refuse(f"expected {expected}, got {value.dtype} {value}; bare Python numbers are converted")
    return value.tobytes()


def _integer(place: _Place, value: Any) -> bytes:
    parameter = place.parameter
    if not isinstance(value, int):
        place.refuse(f"expected a whole number, got {value!r}")
    least, most = integer_range(parameter)
    if not least <= value <= most:
        place.refuse(f"{value} does not lie in {least}..{most}")
    return (int(value) % (1 << 8 * parameter.size)).to_bytes(parameter.size, "little")


def integer_range(parameter: Parameter) -> tuple[int, int]:
    """The range of an integer parameter. PTX types have no signedness, so both ranges are accepted there."""
    bits = 8 * parameter.size
    kind = np.dtype(SCALARS[parameter.type]).kind if parameter.type in SCALARS else ""
    if kind == "b":
        return 0, 1
    return 0 if kind == "u" else -(1 << (bits - 1)), (1 << (bits - 1)) - 1 if kind == "i" else (1 << bits) - 1


def _float(place: _Place, value: Any) -> bytes:
    if not isinstance(value, int | float) or isinstance(value, bool):
        place.refuse(f"expected a number, got {value!r}")
    try:
        return struct.pack(FLOAT_FORMATS[place.parameter.size], float(value))
    except OverflowError:
        place.refuse(f"{value!r} is too large")
