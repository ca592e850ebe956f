# SPDX-License-Identifier: Apache-2.0
"""Kernels by the names that users have for them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpushare import _core
from gpushare._core import InvalidInput
from gpushare.compiler import COMPILER, CompilerCrashError, CompilerTimeoutError

REFERENCE = re.compile(r"[ST][0-9A-Z]*_")
MOST_HARMLESS_REFERENCES = 24
"""In a mangled name, to earlier parts of it: each can make it a little less than twice as long."""
LONGEST_HARMLESS_NAME = 1000


def demangled(symbol: str) -> str:
    """The C++ signature behind a symbol; empty where there is none.

    In a server the symbol may be anybody's, and a short one may stand for gigabytes: such are the compiler's business,
    which is a process of its own.

    >>> demangled("_Z1kPf")
    'k(float*)'
    """
    if len(symbol) <= LONGEST_HARMLESS_NAME and len(REFERENCE.findall(symbol)) <= MOST_HARMLESS_REFERENCES:
        return _core.demangled(symbol)
    try:
        return COMPILER.demangled(symbol)
    except (CompilerCrashError, CompilerTimeoutError):
        return ""


def entry_named(wanted: str, symbols: Sequence[str], file_name: str) -> str:
    """The symbol of a kernel: by itself, its whole signature, or its C++ name if only one kernel has it.

    Raises:
        InvalidInput: there is none, or there are several; the message lists them.

    >>> entry_named("ns::k", ["_ZN2ns1kEPf", "other"], "k.ptx")
    '_ZN2ns1kEPf'
    """
    if wanted in symbols:
        return wanted
    matching = [each for each in symbols if wanted in _names(demangled(each))]
    if len(matching) == 1:
        return matching[0]
    if matching:
        raise InvalidInput(f"{file_name}: {wanted!r} may be any of: {', '.join(matching)}; name one of them")
    raise InvalidInput(no_such_entry(wanted, symbols, file_name))


def no_such_entry(wanted: str, symbols: Sequence[str], file_name: str) -> str:
    """With those that there are."""
    listed = "; ".join(demangled(each) or each for each in symbols) or "none"
    return f"{file_name} has no kernel {wanted!r}; it has: {listed}"


def _names(signature: str) -> tuple[str, ...]:
    """``void ns::k<float>(float*)`` is also known as ``ns::k<float>``."""
    name = re.sub(r"\(.*", "", signature, flags=re.DOTALL)
    return signature, name, name.partition(" ")[2]
