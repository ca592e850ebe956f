# SPDX-License-Identifier: Apache-2.0
"""Parameters of kernels: types from a mangled name where there is one, else from the PTX."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from gpushare import _core
from gpushare.kernels.entry_names import demangled, matching_parenthesis

Kind = Literal["pointer", "integer", "float", "struct"]

SCALARS = {
    "bool": "?",
    "char": "i1",
    "signed char": "i1",
    "unsigned char": "u1",
    "short": "i2",
    "unsigned short": "u2",
    "int": "i4",
    "unsigned int": "u4",
    "long": "i8",
    "unsigned long": "u8",
    "long long": "i8",
    "unsigned long long": "u8",
    "char8_t": "u1",
    "char16_t": "u2",
    "char32_t": "u4",
    "wchar_t": "i4",
    "float": "f4",
    "double": "f8",
    "__half": "f2",
}
"""NumPy types by C++ type."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of a kernel.

    Attributes:
        index: from 0.
        name: None where it is not known.
        type: C++ type, ``"float const*"``. Where only PTX is known: ``"void*"`` for a certain pointer, else the PTX
            type; a ``".u64"`` may be a pointer.
        kind: kind of argument that it takes.
        size: size in bytes.
        offset: offset from the first parameter, in bytes.
    """

    index: int
    name: str | None
    type: str
    kind: Kind
    size: int
    offset: int

    def __str__(self) -> str:
        return f"{self.type} {self.name}" if self.name else self.type


def parameters_of(kernel: _core.KernelSignature) -> tuple[Parameter, ...]:
    """The parameters of a kernel of a PTX module.

    >>> (kernel,) = _core.kernel_signatures('''
    ... .version 8.0
    ... .target sm_90
    ... .address_size 64
    ... .visible .entry _Z5scalePfPKfi(.param .u64 p0, .param .u64 p1, .param .u32 p2) { ret; }
    ... ''')
    >>> [(parameter.type, parameter.kind, parameter.offset) for parameter in parameters_of(kernel)]
    [('float*', 'pointer', 0), ('float const*', 'pointer', 8), ('int', 'integer', 16)]
    """
    types = parameter_types(demangled(kernel.name))
    if types is None or len(types) != len(kernel.parameters):
        types = [None] * len(kernel.parameters)
    found: list[Parameter] = []
    end = 0
    for index, (declared, cpp_type) in enumerate(zip(kernel.parameters, types, strict=True)):
        offset = -(-end // declared.alignment) * declared.alignment
        end = offset + declared.bytes
        type_, kind = _type(declared, cpp_type)
        found.append(Parameter(index, _name(declared.name, kernel.name), type_, kind, declared.bytes, offset))
    return tuple(found)


def parameter_types(signature: str) -> list[str | None] | None:
    """The types in a demangled signature; None where it has none.

    >>> parameter_types("void ns::scale<float, 4>(float*, std::pair<int, float> const*, void (*)(int, int))")
    ['float*', 'std::pair<int, float> const*', 'void (*)(int, int)']
    >>> parameter_types("nothing()")
    []
    """
    if not signature.endswith(")"):
        return None
    begin = matching_parenthesis(signature)
    types: list[str | None] = []
    depth, first = 0, begin + 1
    for place in range(begin + 1, len(signature)):
        depth += (signature[place] in "(<[{") - (signature[place] in ")>]}")
        if (signature[place] == "," and depth == 0) or place == len(signature) - 1:
            types.append(signature[first:place].strip())
            first = place + 1
    return [] if types == [""] else types


def _name(declared: str, kernel: str) -> str | None:
    return None if re.fullmatch(re.escape(kernel) + r"_param_\d+", declared) else declared


def _type(declared: _core.KernelParameter, cpp_type: str | None) -> tuple[str, Kind]:
    if cpp_type is not None and declared.bytes == 8 and is_address(cpp_type):
        return cpp_type, "pointer"
    if cpp_type in SCALARS:
        return cpp_type, "float" if SCALARS[cpp_type].startswith("f") else "integer"
    if cpp_type is None and declared.is_pointer:
        return "void*", "pointer"
    return cpp_type or _ptx_type(declared), _kind(declared)


def is_address(cpp_type: str) -> bool:
    """Whether the type is a pointer or a reference."""
    return cpp_type.endswith(("*", "&")) or "(*)" in cpp_type


def _ptx_type(declared: _core.KernelParameter) -> str:
    return f"{declared.type}[{declared.bytes}]" if _kind(declared) == "struct" else declared.type


def _kind(declared: _core.KernelParameter) -> Kind:
    if declared.type == ".b8" and (declared.bytes > 1 or declared.alignment > 1):
        return "struct"
    return "float" if declared.type.startswith(".f") else "integer"
