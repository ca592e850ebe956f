# SPDX-License-Identifier: Apache-2.0
"""Digests of values: equal in every process for equal values, whatever the order of a set and the hashes of texts."""

from __future__ import annotations

import copyreg
import hashlib
import inspect
import json
from collections.abc import Sequence
from types import CodeType, FunctionType, MethodType
from typing import Any

from gpushare._core import InvalidInput


def digest(value: Any, what: str) -> str:
    """The digest of a value: functions count by their code, and objects by what a pickle would have.

    Raises:
        InvalidInput: ``what``, which the message names, holds something that has no such content, such as a file.
    """
    try:
        text = json.dumps(_plain(value, ()), sort_keys=True)
    except Exception as error:  # whatever the methods of an object raise
        raise InvalidInput(
            f"{what} cannot be told from others: {type(error).__name__}: {error}; keep files, locks and iterators out "
            "of its attributes"
        ) from error
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def source(kind: type) -> Any:
    """The source of a class; where there is none, as for one that was typed in, what it has."""
    try:
        return inspect.getsource(kind)
    except (OSError, TypeError):
        return {name: value for name, value in vars(kind).items() if _is_written(name, value)}


def _is_written(name: str, value: Any) -> bool:
    """Whether an entry of a class is of its code: Python adds others, such as ``__slotnames__`` at the first copy."""
    is_pythons = name.startswith("__") and name.endswith("__") and not callable(value)
    return not is_pythons and name != "_abc_impl"


def _plain(value: Any, inside: tuple[int, ...]) -> Any:
    """The value in terms of JSON.

    Args:
        value: any.
        inside: the ids of the values that hold it.
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, bytes):
        return hashlib.sha256(value).hexdigest()
    if id(value) in inside:
        return ["within", len(inside) - inside.index(id(value))]

    def plain(part: Any) -> Any:
        return _plain(part, (*inside, id(value)))

    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, dict):
        return ["dict", *_sorted([[plain(key), plain(each)] for key, each in value.items()])]
    if isinstance(value, set | frozenset):
        return ["set", *_sorted([plain(each) for each in value])]
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return plain(_parts(value))


def _sorted(values: Sequence[Any]) -> list[Any]:
    return sorted(values, key=lambda each: json.dumps(each, sort_keys=True))


def _parts(value: Any) -> Sequence[Any]:
    """What makes an object what it is."""
    if isinstance(value, FunctionType):
        closure = [each.cell_contents for each in value.__closure__ or ()]
        return [value.__code__, value.__defaults__, value.__kwdefaults__, closure]
    if isinstance(value, CodeType):
        return [value.co_code, value.co_consts, value.co_names, value.co_varnames]
    if isinstance(value, MethodType | staticmethod | classmethod):
        return [type(value).__name__, value.__func__, getattr(value, "__self__", None)]
    if isinstance(value, property):
        return ["property", value.fget, value.fset]
    if isinstance(value, type) or (callable(value) and hasattr(value, "__qualname__")):
        return [getattr(value, "__module__", None), value.__qualname__]
    reduce = copyreg.dispatch_table.get(type(value))
    reduced: Any = reduce(value) if reduce else value.__reduce_ex__(4)
    if isinstance(reduced, str):
        return [reduced]
    make, arguments, *rest = reduced
    return [make, arguments, *(each if index == 0 or each is None else list(each) for index, each in enumerate(rest))]
