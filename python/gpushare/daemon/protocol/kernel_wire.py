# SPDX-License-Identifier: Apache-2.0
"""Kernels as messages from a client to the worker."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from gpushare._core import InvalidInput
from gpushare.checks import require
from gpushare.daemon.protocol.limits import MOST_CUBIN_BYTES, MOST_SOURCE_BYTES
from gpushare.daemon.protocol.messages import Named, RegisterKernel, RegisterModel
from gpushare.files.schema import checked
from gpushare.kernels.kernel import Kernel
from gpushare.kernels.source import KernelSource, compile_options, with_absolute_paths
from gpushare.model.kernel_model import KernelModel


def kernel_fields(kernel: Kernel) -> dict[str, Any]:
    """The kernel's fields without its content. Paths are absolute, because the worker runs in another folder."""
    source = kernel._source
    return {
        "name": kernel.name,
        "file_name": source.file_name,
        "folder": None if source.folder is None else str(source.folder),
        "is_cubin": source.cubin is not None,
        "parameters": None if kernel.parameters is None else list(kernel.parameters),
        "preemptible": kernel.preemptible,
        "names": list(kernel._names),
        "options": with_absolute_paths(kernel.options),
    }


def kernel_of(request: RegisterKernel, content: bytes) -> Kernel:
    """The kernel on the worker's side, equal to the client's.

    Raises:
        InvalidInput: its text is not valid.
    """
    if request.is_cubin:
        require(not request.options, f"kernel {request.name!r}: options are for compilers, and a cubin is not compiled")
        kernel = Kernel(content, request.name, preemptible=request.preemptible, parameters=request.parameters)
        kernel._source = KernelSource("", request.file_name, None, content)
        return kernel
    require(request.parameters is None, f"kernel {request.name!r}: 'parameters' is for cubins only")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"kernel {request.name!r}: its source is not UTF-8 text") from error
    folder = None if request.folder is None else Path(request.folder)
    kernel = Kernel("", request.name, preemptible=request.preemptible)
    kernel._compiled_with(request.names)
    kernel.options = tuple(request.options)
    kernel._source = KernelSource(text, request.file_name, folder)
    kernel._options = compile_options(request.options, kernel._source)
    return kernel


def require_size(name: str, size: int, *, is_cubin: bool) -> None:
    """Raises InvalidInput if the content is larger than the server accepts."""
    most = MOST_CUBIN_BYTES if is_cubin else MOST_SOURCE_BYTES
    what = "a cubin" if is_cubin else "a source"
    require(size <= most, f"kernel {name!r}: {what} of {size} bytes; the server takes at most {most}")


def model_fields(model: KernelModel) -> dict[str, Any]:
    """All fields of the model."""
    return dataclasses.asdict(model)


def model_of(request: RegisterModel) -> KernelModel:
    """The model on the worker's side."""
    known = {field.name for field in dataclasses.fields(KernelModel)}
    unknown = set(request.fields) - known
    if unknown or not {"name", "threads"} <= set(request.fields):
        raise InvalidInput(
            f"a KernelModel has name, threads and others of {sorted(known)}, got {sorted(request.fields)}"
        )
    checked({"name": request.fields["name"]}, Named)
    fields: dict[str, Any] = dict(request.fields)  # KernelModel checks each
    return KernelModel(**fields)
