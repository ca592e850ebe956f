# SPDX-License-Identifier: Apache-2.0
"""Reads and writes launch arguments in workload files (docs/guide/workloads.md)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, get_args

import numpy as np

from gpushare._core import InvalidInput
from gpushare.arguments.launch_arguments import (
    GENERATED_KINDS,
    ArrayKey,
    Content,
    Generated,
    NotKept,
    Zeros,
    checked_arguments,
    dtype_of,
)
from gpushare.checks import require

NOT_KEPT = "not kept"
CONTENTS = (*get_args(Content), "zeros")
KEYS = {
    "zeros": ("dtype", "shape"),
    "ones": ("dtype", "shape"),
    "arange": ("dtype", "shape"),
    "random": ("dtype", "shape", "seed", "below"),
    NOT_KEPT: ("dtype", "shape", "digest"),
}
MOST_WRITTEN = 64
"""Largest number of elements of an array that is written out; a larger array is saved as a description."""
NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
"""The float values that TOML has and JSON does not, by their texts in JSON."""
HOW_TO_WRITE = 'write a number, {float32 = 2.0}, or {array = "zeros", dtype = "float32", shape = [1024]}'


def argument_from_data(data: Any) -> Any:
    """Converts a value of a file to the argument that it describes.

    >>> argument_from_data({"float32": 2.0}), argument_from_data({"array": [1, 2], "dtype": "int32"})
    (np.float32(2.0), array([1, 2], dtype=int32))
    """
    if isinstance(data, Mapping):
        return _array(data) if "array" in data else _scalar(data)
    data = _number(data)
    require(isinstance(data, bool | int | float), f"{HOW_TO_WRITE}, got {data!r}")
    return checked_arguments("here", [data])[0]


def argument_to_data(value: Any) -> Any:
    """The inverse of :func:`argument_from_data`, except for arrays that are too large to be written out."""
    if isinstance(value, Zeros):
        return {"array": "zeros", "dtype": str(value.dtype), "shape": list(value.shape)}
    if isinstance(value, Generated):
        data: dict[str, Any] = {"array": value.content, "dtype": str(value.dtype), "shape": list(value.shape)}
        data |= {"seed": value.seed} if value.seed else {}
        return data | ({} if value.below is None else {"below": value.below})
    if isinstance(value, NotKept):
        return _described(value)
    if isinstance(value, np.ndarray | np.void):
        return _array_to_data(np.asarray(value))
    return {value.dtype.name: value.item()} if isinstance(value, np.generic) else value


def for_json(data: Any) -> Any:
    """Converts an argument from its form in a file to JSON: floats that are not finite become texts.

    >>> for_json({"float32": math.nan}), for_json(-math.inf), for_json(2.0)
    ({'float32': 'nan'}, '-inf', 2.0)
    """
    if isinstance(data, Mapping):
        return {key: for_json(value) for key, value in data.items()}
    return str(data) if isinstance(data, float) and not math.isfinite(data) else data


def _number(data: Any) -> Any:
    return NOT_FINITE.get(data, data) if isinstance(data, str) else data


def _array_to_data(array: np.ndarray) -> dict[str, Any]:
    written = array.ndim > 0 and array.dtype.kind in GENERATED_KINDS and array.size <= MOST_WRITTEN
    if written and np.isfinite(array).all():
        return {"array": array.tolist(), "dtype": str(array.dtype)}
    return _described(ArrayKey(array))


def _described(key: ArrayKey | NotKept) -> dict[str, Any]:
    return {"array": NOT_KEPT, "dtype": key.dtype, "shape": list(key.shape), "digest": key.digest}


def _array(data: Mapping[str, Any]) -> Any:
    content = data["array"]
    if isinstance(content, list):
        _require_keys(data, ("array", "dtype"), ("array", "dtype"))
        return _written_array(content, data["dtype"])
    known = ", ".join(f'"{name}"' for name in CONTENTS)
    require(isinstance(content, str) and content in KEYS, f"array must be {known} or a list, got {content!r}")
    _require_keys(data, ("array", *KEYS[content]), ("array", "dtype", "shape"))
    dtype = data["dtype"]
    require(isinstance(dtype, str), f"dtype must be a text such as 'float32', got {dtype!r}")
    if content == "zeros":
        return Zeros(data["shape"], dtype)
    if content == NOT_KEPT:
        require(isinstance(data["shape"], list) and isinstance(data.get("digest"), str), "digest must be a text")
        return NotKept(dtype, tuple(data["shape"]), data["digest"])
    return Generated(content, data["shape"], dtype, data.get("seed", 0), data.get("below"))


def _written_array(content: list[Any], name: Any) -> np.ndarray:
    dtype = dtype_of("array: dtype", name, GENERATED_KINDS)
    try:
        read = np.array(content)
    except ValueError as error:
        raise InvalidInput("array: the rows of the list must be equally long and hold numbers") from error
    require(read.size > 0 and read.dtype.kind in "biuf", f"array must hold numbers, got {content!r}")
    with np.errstate(all="ignore"):
        array = read.astype(dtype)
    # Rounding to a narrower float type is what the file asks for; losing any other value is a mistake.
    kept = np.isfinite(array) == np.isfinite(read) if dtype.kind == "f" else array == read
    require((read.dtype.kind == "b") == (dtype.kind == "b") and kept.all(), f"array: {dtype} cannot hold {content!r}")
    return array


def _scalar(data: Mapping[str, Any]) -> np.generic:
    require(len(data) == 1, f"{HOW_TO_WRITE}, got {dict(data)!r}")
    ((name, value),) = data.items()
    dtype, value = dtype_of("the type of a value", name, GENERATED_KINDS), _number(value)
    require(isinstance(value, bool | int | float), f"{name} must be a number, got {value!r}")
    return _written_array([value], dtype)[0]


def _require_keys(data: Mapping[str, Any], known: tuple[str, ...], needed: tuple[str, ...]) -> None:
    for key in data:
        require(key in known, f"unknown key '{key}'; known here: {', '.join(known)}")
    for key in needed:
        require(key in data, f"key '{key}' is missing")
