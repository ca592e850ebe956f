# SPDX-License-Identifier: Apache-2.0
"""Reads traces of requests in the format of Azure's traces of LLM inference."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TextIO, TypeVar

from gpushare._core import InvalidInput
from gpushare.checks import require
from gpushare.files.toml_text import ENCODING

COLUMNS = ("TIMESTAMP", "ContextTokens", "GeneratedTokens")
MOST_TOKENS = 10**9
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Value = TypeVar("Value")


class Tokens(NamedTuple):
    """The tokens of a request.

    Attributes:
        context: of the prompt.
        generated: of the answer.
    """

    context: int
    generated: int


def read_requests(path: Path, count: int | None, most: int) -> tuple[list[int], list[Tokens]]:
    """The times of requests in nanoseconds, in order, and their tokens.

    Args:
        path: of a CSV file with these columns.
        count: how many to read; None: all.
        most: how many all may be.

    Raises:
        InvalidInput: the file is not one of these; the message names line and column.
    """
    try:
        with path.open(encoding=ENCODING, newline="") as file:
            requests = sorted(islice(_rows(path, file), most + 1 if count is None else count))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InvalidInput(f"{path}: cannot be read as a trace: {error}") from error
    require(len(requests) > 0, f"{path}: has no requests")
    require(len(requests) <= most, f"{path}: has more than {most} requests: say how many to take")
    require(count is None or len(requests) == count, f"{path}: has {len(requests)} requests, not {count}")
    return [time_ns for time_ns, _ in requests], [tokens for _, tokens in requests]


def _rows(path: Path, file: TextIO) -> Iterator[tuple[int, Tokens]]:
    reader = csv.DictReader(file)
    missing = [name for name in COLUMNS if name not in (reader.fieldnames or ())]
    require(not missing, f"{path}: a trace has the columns {', '.join(COLUMNS)}; missing: {', '.join(missing)}")
    for row in reader:
        where = f"{path}:{reader.line_num}"
        absent = [name for name in COLUMNS if row[name] is None]
        require(not absent, f"{where}: the line ends before column {', '.join(absent)}")
        time_ns = _value(where, row, "TIMESTAMP", _nanoseconds)
        yield time_ns, Tokens(*(_value(where, row, name, _tokens) for name in COLUMNS[1:]))


def _value(where: str, row: dict[str, str], name: str, convert: Callable[[str], Value]) -> Value:
    try:
        return convert(row[name])
    except ValueError as error:
        raise InvalidInput(f"{where}: column {name}: {row[name]!r} is not valid: {error}") from None


def _tokens(text: str) -> int:
    count = int(text)
    if not 0 <= count <= MOST_TOKENS:
        raise ValueError(f"expected 0 to {MOST_TOKENS}")
    return count


def _nanoseconds(text: str) -> int:
    """Since 1970. Fractions of a second have more digits than datetime keeps.

    >>> _nanoseconds("1970-01-02 00:00:01.0000002"), _nanoseconds("1970-01-01 01:00:00.5+01:00")
    (86401000000200, 500000000)
    """
    whole, _, rest = text.partition(".")
    digits = rest[: len(rest) - len(rest.lstrip("0123456789"))]
    time = datetime.fromisoformat(whole + rest[len(digits) :])
    since = (time if time.tzinfo else time.replace(tzinfo=UTC)) - EPOCH
    return since // timedelta(seconds=1) * 10**9 + int(digits.ljust(9, "0")[:9])
