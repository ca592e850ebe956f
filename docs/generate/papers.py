# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/papers: what `gpushare reproduce PAPER` last made of each paper's evaluation.

Run again and stored by `python docs/generate/recompute.py`.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from results import origin, read
from table import cell, markdown

PAPERS = ["srtf", "slate", "cd-search", "effisha", "cumas"]


def page(paper: str) -> str:
    """All tables of a paper, each with its note, and with its origin where that is not the page's."""
    content = read(f"docs/results/data/computed/{paper}.json")
    parts = [f"# {content['paper']}: the tables", f"What they mean: [{paper}.md](../{paper}.md).", READING]
    parts.append(origin(content["run"]))
    for each in content["tables"]:
        names = list(each["rows"][0])
        cells = [column(name, [row[name] for row in each["rows"]]) for name in names]
        header = ["" if name == "index" else name for name in names]
        parts += [f"## {each['title']}", *([origin(each["run"])] if "run" in each else [])]
        parts += [markdown(header, zip(*cells, strict=True)), each["note"]]
    return "\n\n".join(parts)


def column(name: str, values: list[Any]) -> list[str]:
    """Deviations in percent, fractions with two decimals, whole numbers as they are, nothing for what is not known."""
    numbers = [value for value in values if isinstance(value, float)]
    digits = ",.0f" if all(map(float.is_integer, numbers)) else ",.2f"
    format_spec = "+.1%" if "deviation" in name else digits
    return [cell(value, format_spec) for value in values]


READING = (
    "Columns named `paper` hold what the paper prints, the others what was computed here. A deviation is the computed "
    "figure over the printed one, less 1."
)

PAGES: dict[str, Callable[[], str]] = {f"docs/papers/tables/{paper}.md": partial(page, paper) for paper in PAPERS}
