# SPDX-License-Identifier: Apache-2.0
"""Values and comments as the text of a TOML file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from gpushare.printable import printable

ENCODING = "utf-8-sig"
"""Of files that are read: UTF-8, perhaps with a byte order mark in front, as some editors write it."""


def toml_assignments(table: Mapping[str, Any]) -> Iterator[str]:
    """A line per key; tables within are inline ones."""
    for key, value in table.items():
        yield f"{key} = {toml_value(value)}"


def toml_value(value: Any) -> str:
    """The value as TOML has it.

    >>> toml_value({"float32": [0.5, float("-inf")], "exact": True})
    '{ float32 = [0.5, -inf], exact = true }'
    """
    if isinstance(value, Mapping):
        return "{ " + ", ".join(toml_assignments(value)) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml_value(each) for each in value) + "]"
    if isinstance(value, float):  # JSON has other words for what is not finite
        return float.__repr__(value)
    # JSON's texts and whole numbers are TOML's, too.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")


def toml_comment(text: str) -> str:
    r"""Anybody's text in one line of a comment: white space is one space, and what cannot be printed an escape.

    >>> toml_comment("python -c 'a\n\tb\x1b'")
    "# python -c 'a b\\x1b'"
    """
    return "# " + printable(" ".join(text.split()))
