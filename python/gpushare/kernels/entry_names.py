# SPDX-License-Identifier: Apache-2.0
"""Finds kernels by name: symbol, signature, cast or C++ name."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpushare import _core
from gpushare._core import InvalidInput
from gpushare.checks import did_you_mean
from gpushare.kernels.compiler import COMPILER, CompilerCrashError, CompilerTimeoutError

REFERENCE = re.compile(r"[ST][0-9A-Z]*_")
MOST_HARMLESS_REFERENCES = 24
"""References to earlier parts of a mangled name; each can almost double the length."""
LONGEST_HARMLESS_NAME = 1000
TOKEN = re.compile(r"\w+|[^\w\s]")
UNNAMED = re.compile(r"(?:_INTERNAL_\w+|\(anonymous namespace\))::")
"""Prefixes that the compiler puts before names with internal linkage."""


def demangled(symbol: str) -> str:
    """The C++ signature of a symbol; empty where there is none.

    On a server symbols are untrusted, and a short one may expand to gigabytes: those go to the compiler's process.

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
    """The symbol of a kernel.

    The name may be its symbol, its signature, a cast to its type as in C++, or its C++ name if that is unambiguous.

    Raises:
        InvalidInput: there is none, or there are several; the message lists the accepted names.

    >>> entry_named("ns::k", ["_ZN2ns1kEPf", "other"], "k.ptx")
    '_ZN2ns1kEPf'
    >>> entry_named("(void(*)(const float*))k", ["_Z1kPKf", "_Z1kPi"], "k.ptx")
    '_Z1kPKf'
    """
    if wanted in symbols:
        return wanted
    name = _canonical(wanted)
    matching = [each for each in symbols if name in map(_canonical, _names(each))]
    if len(matching) == 1:
        return matching[0]
    if matching:
        # Two files or anonymous namespaces can have the same name: then only the symbol is unambiguous.
        shown = [_shown(each) for each in matching]
        listed = "; ".join(shown if len(set(shown)) == len(shown) else matching)
        raise InvalidInput(f"{file_name}: {wanted!r} may be any of: {listed}; name one of them")
    raise InvalidInput(no_such_entry(wanted, symbols, file_name))


def no_such_entry(wanted: str, symbols: Sequence[str], file_name: str) -> str:
    """The message, with the known kernels."""
    listed = "; ".join(map(_shown, symbols)) or "none"
    meant = did_you_mean(wanted, [name for each in symbols for name in _names(each) if name])
    return f"{file_name} has no kernel {wanted!r}; it has: {listed}{meant}"


def _shown(symbol: str) -> str:
    return UNNAMED.sub("", demangled(symbol)) or symbol


def _names(symbol: str) -> list[str]:
    """The accepted names: ``void ns::k<float>(float*)`` is also ``ns::k<float>``, and a cast to ``void(*)(float*)``."""
    full = demangled(symbol)
    signature = UNNAMED.sub("", full)
    if not signature.endswith(")"):
        return [full, signature]
    begin = matching_parenthesis(signature)
    name, parameters = signature[:begin], signature[begin:]
    if name.endswith(">"):  # only a template's symbol has the result's type
        name = name.partition(" ")[2]
    return [full, signature, name + parameters, name, f"(void(*){parameters}){name}", f"(void(*){parameters})&{name}"]


def matching_parenthesis(signature: str) -> int:
    """Index of the parenthesis that the last one closes."""
    depth = 0
    for place in range(len(signature) - 1, -1, -1):
        depth += (signature[place] == ")") - (signature[place] == "(")
        if depth == 0:
            return place
    return 0


def _canonical(name: str) -> str:
    """The name without spaces, and with const after its type, as in demangled symbols.

    >>> _canonical("k( const unsigned int *, int)")
    'k(unsignedintconst*,int)'
    """
    written: list[str] = []
    held: list[int] = []  # nesting depths at which a const is to be moved behind the end of its type
    depth = 0
    for token in TOKEN.findall(name):
        if token in "*&,)>" and held and held[-1] == depth:
            written.append("const")
            held.pop()
        depth += (token in "(<[") - (token in ")>]")
        if token == "const" and (not written or written[-1] in "(<,"):
            held.append(depth)
        else:
            written.append(token)
    return "".join(written)
