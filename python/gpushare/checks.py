# SPDX-License-Identifier: Apache-2.0
"""Checks of values that come from outside: each raises InvalidInput with a message that names the value."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import numpy as np

from gpushare._core import InvalidInput

MOST_BYTES = 2**50
"""Of one array or of one application: no GPU has so much."""
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
"""What a terminal may take for a command."""
LONGEST_COMPARED = 80
MOST_COMPARED = 1000
"""Limits of the search for similar names, which takes time, and on a server clients choose the names."""


def require(holds: bool, message: str) -> None:
    """Raise InvalidInput with the message unless the condition holds."""
    if not holds:
        raise InvalidInput(message)


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: the known name that is most like it, if one is.

    >>> did_you_mean("stfr", ["fifo", "srtf"]), did_you_mean("x", ["fifo", "srtf"])
    ("; did you mean 'srtf'?", '')
    """
    from difflib import get_close_matches  # only errors need it

    wanted = str(name).lower()
    by_lower_case = {each.lower(): each for each in islice(known, MOST_COMPARED) if len(each) <= LONGEST_COMPARED}
    found = get_close_matches(wanted, by_lower_case, n=1) if len(wanted) <= LONGEST_COMPARED else []
    return f"; did you mean {by_lower_case[found[0]]!r}?" if found else ""


def file_path(value: str | os.PathLike[str], what: str = "the file's path") -> Path:
    """The path, or InvalidInput unless it is a text or a path that a file can have."""
    require(isinstance(value, str | os.PathLike), f"{what} must be a text or a pathlib.Path, got {value!r}")
    require("\0" not in os.fspath(value), f"{what} has a NUL, which no file's path can have: {os.fspath(value)!r}")
    return Path(value)


def number(subject: str, value: float, least: float, most: float) -> float:
    """The value as a Python number, or InvalidInput that names what it was for, unless it lies in ``least..most``."""
    plain = value.item() if isinstance(value, np.number) else value
    is_number = isinstance(plain, int | float) and not isinstance(plain, bool)
    # Messages are written where they are needed: this is looked at with every launch.
    if not (is_number and (isinstance(plain, int) or math.isfinite(plain))):
        raise InvalidInput(f"{subject} must be a finite number, got {value!r}")
    if not least <= plain <= most:
        raise InvalidInput(f"{subject} must lie in {_bound(least)}..{_bound(most)}, got {value!r}")
    return plain


def _bound(limit: float) -> str:
    """The limit, short where that is exact: one that was rounded up would itself be refused.

    >>> _bound(10**12), _bound(2**31 - 1)
    ('1e+12', '2147483647')
    """
    short = f"{limit:g}"
    return short if float(short) == limit else str(limit)


def whole(subject: str, value: int, least: int, most: int) -> int:
    """As :func:`number`, and the value must be a whole one."""
    plain = number(subject, value, least, most)
    if not isinstance(plain, int):
        raise InvalidInput(f"{subject} must be a whole number, got {value!r}")
    return int(plain)


def require_name(subject: str, value: str) -> None:
    """Raise InvalidInput unless the value can name something."""
    require(isinstance(value, str) and value != "", f"{subject} must be a text that is not empty, got {value!r}")
    require_no_nul(subject, value)
    require(CONTROL.search(value) is None, f"{subject} must have no control characters, got {value!r}")


def require_no_nul(subject: str, text: str) -> None:
    """Raise InvalidInput for a text that ends early wherever C reads it, or that cannot be written as UTF-8."""
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise InvalidInput(f"{subject} must have no character NUL; there is one in line {line}")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(f"{subject} must be a text of Unicode: {error.reason}, at place {error.start}") from error
