# SPDX-License-Identifier: Apache-2.0
"""Writes values and comments as TOML text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from gpushare.printable import printable

ENCODING = "utf-8-sig"
"""Encoding of files to read: UTF-8, with or without a byte order mark, which some editors write."""


def toml_assignments(table: Mapping[str, Any]) -> Iterator[str]:
    """One line per key; nested tables are inline tables."""
    for key, value in table.items():
        yield f"{key} = {toml_value(value)}"


def toml_value(value: Any) -> str:
    """The value as TOML text.

    >>> toml_value({"float32": [0.5, float("-inf")], "exact": True})
    '{ float32 = [0.5, -inf], exact = true }'
    """
    if isinstance(value, Mapping):
        return "{ " + ", ".join(toml_assignments(value)) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml_value(each) for each in value) + "]"
    if isinstance(value, float):  # JSON spells floats that are not finite differently
        return float.__repr__(value)
    # TOML accepts JSON's strings and integers.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")


def toml_comment(text: str) -> str:
    r"""Untrusted text as one comment line: white space becomes one space, unprintable characters are escaped.

    >>> toml_comment("python -c 'a\n\tb\x1b'")
    "# python -c 'a b\\x1b'"
    """
    return "# " + printable(" ".join(text.split()))
