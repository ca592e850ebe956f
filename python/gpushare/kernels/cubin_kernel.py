# SPDX-License-Identifier: Apache-2.0
"""Kernels from a cubin: they run as original kernels, and the user may have to give their parameter types."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

import numpy as np

from gpushare._core import InvalidInput
from gpushare.kernels.compiled_kernel import CompiledKernel
from gpushare.kernels.cubin import Cubin, CubinParameter
from gpushare.kernels.entry_names import demangled, entry_named
from gpushare.kernels.module_variables import ModuleVariable
from gpushare.kernels.parameters import SCALARS, Kind, Parameter, is_address, parameter_types
from gpushare.kernels.source import KernelSource

BYTES = ".b8"
REFUSAL = "there is no PTX: a cubin runs as it is"


def cubin_kernel(source: KernelSource, name: str, types: Sequence[str] | None, arch: str) -> CompiledKernel:
    """Describes a kernel of a cubin for a GPU of this architecture.

    Raises:
        InvalidInput: the file is damaged, has no such kernel, or is for other GPUs; or the types do not match.
    """
    cubin = Cubin(source.content, source.file_name)
    _require_runs_on(cubin, source.file_name, arch)
    symbol = entry_named(name, cubin.kernels, source.file_name)
    variables = tuple(
        ModuleVariable(each.symbol, BYTES, (each.size,), each.size, each.is_constant, is_written=not each.is_constant)
        for each in cubin.variables
    )
    return CompiledKernel(
        name=name,
        symbol=symbol,
        arch=arch,
        original=source.content,
        worker=None,
        worker_symbol=None,
        refusal=REFUSAL,
        parameters=_parameters(f"kernel {name!r}", cubin.parameters(symbol), types, symbol),
        original_usage=cubin.usage(symbol),
        worker_usage=None,
        register_limit=None,
        log="",
        cached=False,
        ptx="",
        worker_ptx=None,
        variables=variables,
        module=hashlib.blake2b(source.content, digest_size=16).hexdigest() if variables else None,
    )


def _require_runs_on(cubin: Cubin, file_name: str, arch: str) -> None:
    """Machine code runs on GPUs of its major version, from its minor version on."""
    digits = re.match(r"sm_(\d+)", arch)
    wanted = int(digits[1]) if digits else 0
    if cubin.architecture // 10 != wanted // 10 or cubin.architecture > wanted:
        raise InvalidInput(
            f"{file_name} is code for sm_{cubin.architecture}, which does not run on {arch!r}: a cubin runs on GPUs of "
            "its major version, from its minor version on. Make one for this GPU, or hand over PTX"
        )


def _parameters(
    subject: str, places: Sequence[CubinParameter], given: Sequence[str] | None, symbol: str
) -> tuple[Parameter, ...]:
    """The types that the user gives, else the types in a mangled name."""
    if given is not None and len(given) != len(places):
        sizes = ", ".join(str(each.size) for each in places)
        raise InvalidInput(
            f"{subject}: 'parameters' has {len(given)} types, but it takes {len(places)} arguments (of {sizes} bytes)"
        )
    known = given if given is not None else parameter_types(demangled(symbol))
    types = known if known is not None and len(known) == len(places) else [None] * len(places)
    return tuple(
        _parameter(subject, index, place, type_) for index, (place, type_) in enumerate(zip(places, types, strict=True))
    )


def _parameter(subject: str, index: int, place: CubinParameter, cpp_type: str | None) -> Parameter:
    type_, kind, size = _described(cpp_type, place.size)
    if size != place.size:
        raise InvalidInput(f"{subject}, parameter {index + 1}: {type_} has {size} bytes, but here are {place.size}")
    return Parameter(index, None, type_, kind, place.size, place.offset)


def _described(cpp_type: str | None, size: int) -> tuple[str, Kind, int]:
    """Type, kind and size.

    Without a type, eight bytes may be an address or a number; for other sizes only the size is known.
    """
    if cpp_type is None:
        return (".u64", "integer", size) if size == 8 else (f"{size} byte{'s' * (size != 1)}", "struct", size)
    plain = re.sub(r"(?<!\s)\s+([*&])", r"\1", cpp_type.strip())
    if is_address(plain):
        return re.sub(r"^const\s+([\w ]+?)\*", r"\1 const*", plain), "pointer", 8
    if plain in SCALARS:
        return plain, "float" if SCALARS[plain].startswith("f") else "integer", np.dtype(SCALARS[plain]).itemsize
    return plain, "struct", size
