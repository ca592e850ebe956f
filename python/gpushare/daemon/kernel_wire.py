# SPDX-License-Identifier: Apache-2.0
"""Kernels and arguments as they travel from a client to the worker."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gpushare._core import InvalidInput
from gpushare.daemon.messages import RegisterKernel, RegisterModel
from gpushare.kernel import Kernel
from gpushare.kernel_model import KernelModel
from gpushare.kernel_source import KernelSource, compile_options

Plain = (bool, int, float, bytes)
SCALAR_TYPES = {np.dtype(code).str for code in "?bBhHiIqQefd"}


def kernel_fields(kernel: Kernel) -> dict[str, Any]:
    """What the worker needs of it beside its text. Folders are absolute: the worker runs elsewhere."""
    source = kernel._source
    return {
        "name": kernel.name,
        "file_name": source.file_name,
        "folder": None if source.folder is None else str(source.folder),
        "preemptible": kernel.preemptible,
        "options": [_with_absolute_folder(each) for each in _joined_includes(kernel.options)],
    }


def _joined_includes(options: Sequence[str]) -> list[str]:
    """``-I x`` as ``-Ix``."""
    words = iter(options)
    return [f"-I{next(words, '')}" if word in ("-I", "--include-path", "-include-path") else word for word in words]


def _with_absolute_folder(option: str) -> str:
    for flag in ("--include-path=", "-include-path=", "-I=", "-I"):
        if option.startswith(flag):
            return f"-I{Path(option.removeprefix(flag)).absolute()}"
    return option


def kernel_of(request: RegisterKernel, text: str) -> Kernel:
    """The kernel on the worker's side, equal to the client's."""
    folder = None if request.folder is None else Path(request.folder)
    kernel = Kernel("", request.name, preemptible=request.preemptible)
    kernel.options = tuple(request.options)
    kernel._source = KernelSource(text, request.file_name, folder)
    kernel._options = compile_options(request.options, kernel._source)
    return kernel


def model_fields(model: KernelModel) -> dict[str, Any]:
    """All of it."""
    return dataclasses.asdict(model)


def model_of(request: RegisterModel) -> KernelModel:
    """The model on the worker's side."""
    known = {field.name for field in dataclasses.fields(KernelModel)}
    unknown = set(request.fields) - known
    if unknown or not {"name", "threads"} <= set(request.fields):
        raise InvalidInput(
            f"a KernelModel has name, threads and others of {sorted(known)}, got {sorted(request.fields)}"
        )
    return KernelModel(**request.fields)


def packed_argument(subject: str, value: Any, handle_of: Callable[[Any], int | None]) -> Any:
    """An argument as it travels. ``handle_of`` knows the client's own arrays.

    Raises:
        InvalidInput: it cannot; the message says what to do.
    """
    handle = handle_of(value)
    if handle is not None:
        return {"array": handle}
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, np.void | bytearray | memoryview):
        value = value.tobytes() if not isinstance(value, bytearray) else bytes(value)
    if isinstance(value, np.generic):
        return {"dtype": value.dtype.str, "bytes": value.tobytes()}
    if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**64:
        raise InvalidInput(f"{subject}: {value} fits no parameter of a kernel")
    if value is None or type(value) in Plain:
        return value
    if isinstance(value, np.ndarray) or hasattr(value, "__array__") or hasattr(value, "__array_interface__"):
        what = f"a {type(value).__name__} in host memory"
        raise InvalidInput(f"{subject}: {what}; copy it to the device with session.array(...) first")
    if hasattr(value, "__cuda_array_interface__"):
        what = f"a {type(value).__name__} in this process's own CUDA context"
        raise InvalidInput(
            f"{subject}: {what}, which the server cannot see; make the array with session.zeros(..., shared=True) and "
            "the tensor of that, or copy its values with session.array(...)"
        )
    raise InvalidInput(f"{subject}: expected an array of this session or a number, got {value!r}")


def unpacked_argument(value: Any, array_of: Callable[[int], Any]) -> Any:
    """The argument on the worker's side.

    Raises:
        InvalidInput: it is none, or of an array that the client does not have.
    """
    if value is None or type(value) in Plain:
        return value
    if isinstance(value, dict) and set(value) == {"array"} and type(value["array"]) is int:
        return array_of(value["array"])
    if isinstance(value, dict) and set(value) == {"dtype", "bytes"}:
        return _scalar(value["dtype"], value["bytes"])
    raise InvalidInput(f"an argument must be a number, bytes or an array's handle, got {str(value)[:100]}")


def _scalar(dtype: Any, content: Any) -> np.generic:
    if not isinstance(dtype, str) or dtype not in SCALAR_TYPES or not isinstance(content, bytes):
        raise InvalidInput(f"a NumPy scalar must be of a plain type, got {str(dtype)[:100]}")
    kind = np.dtype(dtype)
    if kind.itemsize != len(content):
        raise InvalidInput(f"a NumPy scalar of {kind} has {kind.itemsize} bytes, got {len(content)}")
    return np.frombuffer(content, kind)[0]
