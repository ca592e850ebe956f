# SPDX-License-Identifier: Apache-2.0
"""The pages of docs/results: one for each JSON file in docs/results/data, and an index of them.

`index.json` lists the pages. A page's file has its question (`title`), the `answer` in words, the `method`, the `runs`
that its figures are from, and its `tables`. The rows of a table stand in the file itself, or in the file of a benchmark
(`from`), whose columns are chosen and named there. `headlines` name cells of these tables for the index, so that no
figure is written down twice.
"""

import json
import lzma
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from table import DIGITS, cell, markdown

CHECKOUT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Table:
    """A table as a page shows it, and one line that says where its figures are from."""

    columns: list[str]
    rows: list[list[str]]
    origin: str

    def at(self, row: str, column: str) -> str:
        """The cell of a row, which its first cell or its first cells joined by " / " name, in this column."""
        (found,) = (each for each in self.rows if row in (each[0], " / ".join(each[:2]), " / ".join(each[:3])))
        return found[self.columns.index(column)]


def page(name: str) -> str:
    """A page's text."""
    content = read_page(name)
    parts = [f"# {content['title']}", *content["answer"], "## Method", bullets(content["method"])]
    for each in content["tables"]:
        parts += section(content, each)
    return "\n\n".join(parts)


def section(content: Mapping[str, Any], spec: Mapping[str, Any]) -> list[str]:
    """A table under its title, with its pictures, its origin and its note."""
    parts = [f"## {spec['title']}"]
    if "rows" in spec or "from" in spec:
        found = table(content, spec)
        parts += [found.origin, markdown(found.columns, found.rows)]
    parts += [spec["note"]] if "note" in spec else []
    for each in spec.get("pictures", []):
        parts += [f"![{each['shows']}](../images/{each['file']})", f"*{each['caption']}*"]
    return parts


def table(content: Mapping[str, Any], spec: Mapping[str, Any]) -> Table:
    """A table of a page."""
    if "from" not in spec:
        return Table(spec["columns"], spec["rows"], origin(content["runs"][spec["run"]]))
    columns, formats = spec["from"]["columns"], spec["from"].get("formats", {})
    rows = [
        [cell(row[key], formats.get(name, DIGITS)) for name, key in columns.items()]
        for row in stored(spec["from"])["rows"]
    ]
    run = content["runs"][spec["run"]] if "run" in spec else read(spec["from"]["file"])["run"]
    return Table(list(columns), rows, origin(run))


def stored(source: Mapping[str, Any]) -> dict[str, Any]:
    """A table of a benchmark's file."""
    (found,) = (each for each in read(source["file"])["tables"] if each["title"] == source["table"])
    return found


def origin(run: Mapping[str, str]) -> str:
    """What ran where, when, and in which version."""
    known = [run["device"], run.get("software"), run["date"], f"commit {run['commit']}" if run.get("commit") else None]
    what = f", by `{run['command']}`" if run.get("command") else ""
    return f"*{', '.join(filter(None, known))}{what}.*"


def index() -> str:
    """The index: every page's question, with the cells that answer it in short."""
    content = read_page("index")
    questions = [f"[{read_page(name)['title']}]({name}.md)" for name in content["pages"]]
    rows = [headline(name, each) for name in content["pages"] for each in read_page(name).get("headlines", [])]
    in_short = markdown(["measure", "result", "page"], rows)
    parts = [f"# {content['title']}", *content["answer"], "## Questions", bullets(questions), "## In short", in_short]
    return "\n\n".join(parts)


def headline(name: str, spec: Mapping[str, Any]) -> list[str]:
    """A row of the index."""
    content = read_page(name)
    values = []
    for label, (of_table, row, column) in spec["values"].items():
        (found,) = (each for each in content["tables"] if each.get("name") == of_table)
        values.append(f"{label} {table(content, found).at(row, column)}")
    return [spec["measure"], "; ".join(values), f"[{name}]({name}.md)"]


def bullets(lines: list[str]) -> str:
    """A list."""
    return "\n".join(f"- {each}" for each in lines)


def read_page(name: str) -> dict[str, Any]:
    """The file of a page."""
    return read(f"docs/results/data/{name}.json")


@cache
def read(path: str) -> dict[str, Any]:
    """A JSON file of the checkout, compressed if its name ends with .xz."""
    content = (CHECKOUT / path).read_bytes()
    return json.loads(lzma.decompress(content) if path.endswith(".xz") else content)


PAGES: dict[str, Callable[[], str]] = {
    "docs/results/index.md": index,
    **{f"docs/results/{name}.md": partial(page, name) for name in read_page("index")["pages"]},
}
