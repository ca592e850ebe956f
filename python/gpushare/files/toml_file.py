# SPDX-License-Identifier: Apache-2.0
"""Reads TOML files against a schema, with errors that name file, line and key."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import ValidationError

from gpushare._core import InvalidInput
from gpushare.files.schema import AnySchema, Key, Schema, what_is_wrong, without_tags
from gpushare.files.toml_text import ENCODING

Made = TypeVar("Made")


def read_toml(path: Path, schema: type[AnySchema]) -> AnySchema:
    """The file's content as the schema's object.

    Raises:
        InvalidInput: the file is missing, is not TOML, or does not match the schema.
    """
    try:
        text = path.read_text(encoding=ENCODING)
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path}: is not UTF-8 text") from error
    try:
        return schema.model_validate(tomllib.loads(text))
    except ValidationError as error:
        raise InvalidInput("\n".join(complaint(path, text, each, schema) for each in error.errors())) from error
    except ValueError as error:  # TOMLDecodeError, or Python's error for an integer of thousands of digits
        raise InvalidInput(f"{path}: is not TOML: {error}") from error
    except RecursionError as error:
        raise InvalidInput(f"{path}: lists or tables are nested too deeply") from error


def made_from(path: Path, schema: type[AnySchema], make: Callable[[AnySchema], Made]) -> Made:
    """Calls ``make`` with the file's content; its InvalidInput gets the file and line."""
    table = read_toml(path, schema)
    try:
        return make(table)
    except InvalidInput as error:
        raise InvalidInput(said_at(path, error)) from error


def complaint(path: Path, text: str, error: Any, schema: type[Schema]) -> str:
    """One line for one error: file, line, key, and the problem."""
    line = line_of(text, without_tags(error["loc"]))
    return f"{path}:{line}: {what_is_wrong(error, schema)}" if line else f"{path}: {what_is_wrong(error, schema)}"


@contextmanager
def at_key(*key: str | int) -> Iterator[None]:
    """Attaches this key to an InvalidInput from the block, for :func:`said_at`."""
    try:
        yield
    except InvalidInput as error:
        cast("Any", error).key = (*key, *getattr(error, "key", ()))
        raise


def said_at(path: Path, error: InvalidInput) -> str:
    """The error with the file and, if :func:`at_key` attached the key, the line."""
    line = line_of(path.read_text(encoding=ENCODING), getattr(error, "key", ()))
    return f"{path}:{line}: {error}" if line else f"{path}: {error}"


HEADER = re.compile(r"^\s*\[(\[?)\s*([^\]]+?)\s*\]\]?\s*(#.*)?$")
ASSIGNMENT = re.compile(r"""^\s*["']?([\w.-]+)["']?\s*=""")


def line_of(text: str, key: Key) -> int | None:
    r"""The line (from 1) where the key, or the nearest table around it, is written.

    >>> line_of("a = 1\n[[kernel]]\nname = 'x'\n[[kernel]]\nthreds = 2", ("kernel", 1, "threds"))
    5
    """
    lines = _lines_by_key(text)
    for length in range(len(key), 0, -1):
        if key[:length] in lines:
            return lines[key[:length]]
    return None


def _lines_by_key(text: str) -> dict[Key, int]:
    lines: dict[Key, int] = {}
    table: Key = ()
    count: Counter[Key] = Counter()
    for number, line in enumerate(text.splitlines(), 1):
        if header := HEADER.match(line):
            table = _numbered(header[2].split("."), count)
            if header[1]:
                table = (*table, count[table])
                count[table[:-1]] += 1
            lines.setdefault(table, number)
        elif assignment := ASSIGNMENT.match(line):
            lines.setdefault((*table, *assignment[1].split(".")), number)
    return lines


def _numbered(parts: Sequence[str], count: Counter[Key]) -> Key:
    """Inserts the index of the latest element after every array of tables on the path to the last part."""
    key: Key = ()
    for part in parts[:-1]:
        key = (*key, part.strip())
        if count[key]:
            key = (*key, count[key] - 1)
    return (*key, parts[-1].strip())
