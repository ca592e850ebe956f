# SPDX-License-Identifier: Apache-2.0
"""A paper's figures beside the reproduced ones: named tables, with notes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from gpushare.extras import pandas as pd


@dataclass(frozen=True)
class Section:
    """One table or figure of the paper.

    Attributes:
        title: its number and subject.
        table: the paper's and the reproduced values.
        note: the method, and how to read it.
    """

    title: str
    table: pd.DataFrame
    note: str


@dataclass(frozen=True)
class Reproduction:
    """All sections of one paper's reproduction.

    Attributes:
        paper: its title.
        sections: the sections in the paper's order.
    """

    paper: str
    sections: tuple[Section, ...]

    def tables(self) -> dict[str, pd.DataFrame]:
        """The tables by title."""
        return {section.title: section.table for section in self.sections}

    def text(self) -> str:
        """Everything as plain text."""
        parts = [f"{section.title}\n{shown(section.table).to_string()}\n{section.note}" for section in self.sections]
        return "\n\n".join([self.paper, *parts]) + "\n"

    def to_markdown(self) -> str:
        """Everything as one page of GitHub-flavoured Markdown."""
        parts = [f"# {self.paper}"]
        for section in self.sections:
            parts += [f"## {section.title}", markdown_table(shown(section.table)), section.note]
        return "\n\n".join(parts) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, one record per row."""
        return {
            "paper": self.paper,
            "sections": [
                {
                    "title": section.title,
                    "note": section.note,
                    "rows": json.loads(section.table.reset_index().to_json(orient="records")),
                }
                for section in self.sections
            ],
        }

    def to_json(self) -> str:
        """:meth:`to_dict` as text."""
        return json.dumps(self.to_dict(), indent=2)

    def _repr_html_(self) -> str:
        import html

        parts = [
            f"<h4>{html.escape(section.title)}</h4>{shown(section.table).to_html()}<p>{html.escape(section.note)}</p>"
            for section in self.sections
        ]
        return f"<h3>{html.escape(self.paper)}</h3>" + "".join(parts)


def shown(table: pd.DataFrame) -> pd.DataFrame:
    """The table with deviations in percent, ratios with two decimals, and blanks where the paper prints nothing."""

    def cell(column: str, value: Any) -> str:
        if isinstance(value, float) and pd.isna(value):
            return ""
        if "deviation" in column:
            return f"{value:+.1%}"
        return f"{value:,.2f}" if isinstance(value, float) else str(value)

    return pd.DataFrame(
        {column: [cell(str(column), value) for value in table[column]] for column in table}, table.index
    )


def markdown_table(table: pd.DataFrame) -> str:
    """The table in GitHub's Markdown: the index at the left, the columns aligned to the right.

    >>> import pandas as pd
    >>> print(markdown_table(pd.DataFrame({"stp": ["1.50"]}, index=["srtf"])))
    |  | stp |
    |---|---:|
    | srtf | 1.50 |
    """
    levels = table.index.nlevels
    header = [*(name or "" for name in table.index.names), *table.columns]
    rows = [[*(label if levels > 1 else [label]), *cells] for label, *cells in table.itertuples(name=None)]
    rule = "|" + "---|" * levels + "---:|" * len(table.columns)
    return "\n".join([_markdown_row(header), rule, *map(_markdown_row, rows)])


def _markdown_row(cells: Iterable[Any]) -> str:
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"
