# SPDX-License-Identifier: Apache-2.0
"""Tables in Markdown: columns of numbers are aligned to the right, floats get the digits that a column asks for."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

DIGITS = ".3f"
NUMBER = re.compile(r"[-+]?[\d.,]+(?=\W|$)")


def markdown(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """The table as GitHub shows it.

    >>> print(markdown(["policy", "STP"], [["`auto`", "1.215"]]))
    | policy | STP |
    |---|---:|
    | `auto` | 1.215 |
    """
    cells = [list(row) for row in rows]
    rules = ["---:" if has_numbers(column) else "---" for column in zip(*cells, strict=True)]
    return "\n".join([line(columns), "|" + "|".join(rules or ["---"] * len(columns)) + "|", *map(line, cells)])


def line(cells: Iterable[str]) -> str:
    """One row."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def has_numbers(cells: Iterable[str]) -> bool:
    """Whether every cell that is not empty begins with a number."""
    filled = [cell for cell in cells if cell]
    return bool(filled) and all(NUMBER.match(cell) for cell in filled)


def cell(value: Any, format_spec: str = DIGITS) -> str:
    """A value as a table shows it: medians with their range, floats by the format, nothing for what is not known.

    >>> cell({"median": 1.0, "p10": 0.5, "p90": 2.0}, ".1f"), cell(0.024, ".1%"), cell(None), cell(7)
    ('1.0 (0.5..2.0)', '2.4%', '', '7')
    """
    if value is None or value != value:
        return ""
    if isinstance(value, Mapping):
        low, high = (cell(value[end], format_spec) for end in ("p10", "p90"))
        return f"{cell(value['median'], format_spec)} ({low}..{high})"
    return format(value, format_spec) if isinstance(value, float) else str(value)
