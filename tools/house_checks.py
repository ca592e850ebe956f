#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the sources stay readable: plain words, small folders, no import circles, short documents.

``python tools/house_checks.py`` prints a line per check and exits with 1 if one of them is beyond its limit, with the
places that count most. It reads the files that git tracks.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
SHOWN = 12
"""How many places a failed check names."""

PERSONS = re.compile(r"\b(who|whoever|somebody|nobody|everybody|anybody|he|his|him|whose)\b", re.IGNORECASE)
METAPHORS = re.compile(r"\b(ushers?|seat(s|ed|ing)?|guests?|heeds?|arrears|attendance|quiet moments?)\b", re.IGNORECASE)
DATE = re.compile(r"\b20\d\d-\d\d-\d\d\b")
NUMBER = re.compile(r"(?<![\w.-])\d[\d.,]*(?!\w)")
WORD = re.compile(r"[A-Za-z']+")


@dataclass(frozen=True)
class Check:
    """What is counted, how much of it may be, and where it is."""

    name: str
    found: float
    limit: float
    places: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether it is within its limit."""
        return self.found <= self.limit


@cache
def tracked() -> tuple[str, ...]:
    """The paths that git tracks and that are there."""
    listed = subprocess.check_output(["git", "-C", str(ROOT), "ls-files"], text=True).splitlines()
    return tuple(path for path in listed if (ROOT / path).is_file())


def under(*starts: str, ends: tuple[str, ...]) -> list[str]:
    """Tracked files below these folders with one of these endings."""
    return [path for path in tracked() if path.startswith(starts) and path.endswith(ends)]


@cache
def text(path: str) -> str:
    """The content of a tracked file."""
    return (ROOT / path).read_text(encoding="utf-8", errors="replace")


def cpp() -> list[str]:
    """The C++ sources of the package."""
    return under("src/", ends=(".cpp", ".hpp"))


def python() -> list[str]:
    """The Python sources of the package."""
    return under("python/", ends=(".py",))


def pages() -> list[str]:
    """The documents that are written by hand: generated ones say so in their first lines, and results are generated."""
    documents = [path for path in tracked() if path in ("README.md", "DESIGN.md")] + under("docs/", ends=(".md",))
    return [
        path
        for path in documents
        if "generated" not in text(path)[:200].lower() and not path.startswith("docs/results/")
    ]


def remarks(path: str) -> Iterator[tuple[int, str]]:
    """The lines of a file that are prose, with their numbers: comments and docstrings, or all of a document."""
    lines = text(path).splitlines()
    if path.endswith(".md"):
        yield from enumerate(lines, 1)
    elif path.endswith((".cpp", ".hpp")):
        yield from ((number, line[line.index("//") :]) for number, line in enumerate(lines, 1) if "//" in line)
    else:
        strings = {
            number
            for node in ast.walk(ast.parse(text(path)))
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
            for number in range(node.lineno, (node.end_lineno or node.lineno) + 1)
        }
        for number, line in enumerate(lines, 1):
            if number in strings:
                yield number, line
            elif "#" in line:
                yield number, line[line.index("#") :]


def words_per_thousand(name: str, paths: Iterable[str], pattern: re.Pattern[str], limit: float) -> Check:
    """How often the pattern is found in the prose of these files."""
    total, places = 0, []
    for path in paths:
        for number, line in remarks(path):
            total += len(WORD.findall(line))
            places += [f"{path}:{number} {match.group(0)}" for match in pattern.finditer(line)]
    return Check(name, round(1000 * len(places) / max(total, 1), 2), limit, tuple(places))


def split_classes() -> Check:
    """Classes whose members are defined in more than one source file of a folder."""
    homes = defaultdict(set)
    definition = re.compile(r"^[\w:<>&\*\s,\[\]]*?\b([A-Z]\w+)::~?\w+\([^;]*?\)[^;{]*\{", re.MULTILINE)
    for path in cpp():
        if path.endswith(".cpp"):
            for match in definition.finditer(text(path)):
                homes[match.group(1), str(Path(path).parent)].add(path)
    split = [
        f"{name}: {', '.join(sorted(files))}"
        for (name, _), files in homes.items()
        if len(files) > 1 and any(not (ROOT / path).with_suffix(".hpp").exists() for path in files)
    ]
    return Check("classes in more than one .cpp", len(split), 0, tuple(split))


def crowded_folders() -> Check:
    """Folders with more files than a reader takes in at a glance."""
    limits = {"src/core/policies": 30, "python/gpushare/suite": 30}
    sizes = Counter(str(Path(path).parent) for path in cpp() + python())
    beyond = [f"{folder}: {size}" for folder, size in sizes.most_common() if size > limits.get(folder, 25)]
    return Check("folders with more than 25 files (30 for policies and suites)", len(beyond), 0, tuple(beyond))


def repeated_type_names() -> Check:
    """Type names that are defined more than twice: such a name says of nothing what it is."""
    defined = re.compile(r"^\s*(?:struct|class) (?:\w+::)*(\w+)\b[^;]*\{", re.MULTILINE)
    names = Counter(name for path in cpp() for name in defined.findall(text(path)))
    repeated = [f"{name}: {count}" for name, count in names.most_common() if count > 2]
    return Check("type names defined more than twice", len(repeated), 0, tuple(repeated))


@cache
def modules() -> dict[str, str]:
    """The package's modules by their dotted names."""
    named = {path.removeprefix("python/").removesuffix(".py").replace("/", "."): path for path in python()}
    return {name.removesuffix(".__init__"): path for name, path in named.items()}


def imports_of(path: str) -> Iterator[tuple[str, bool]]:
    """The modules of the package that a module imports when it runs, and whether it does so inside a function."""

    def visit(node: ast.AST, in_function: bool) -> Iterator[tuple[str, bool]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
                continue
            if isinstance(child, ast.ImportFrom) and (child.module or "").split(".")[0] == "gpushare":
                for alias in child.names:
                    inner = f"{child.module}.{alias.name}"
                    target = inner if inner in modules() else str(child.module)
                    if target != "gpushare":
                        yield target, in_function
            yield from visit(child, in_function or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef))

    yield from visit(ast.parse(text(path)), False)


def import_circles() -> Check:
    """Modules from which imports lead back to them."""
    graph = {name: {target for target, _ in imports_of(path)} - {name} for name, path in modules().items()}

    def reached_from(start: str) -> set[str]:
        seen: set[str] = set()
        left = list(graph.get(start, ()))
        while left:
            name = left.pop()
            if name not in seen:
                seen.add(name)
                left += graph.get(name, ())
        return seen

    reached = {name: reached_from(name) for name in graph}
    circles = {frozenset(other for other in reached[name] if name in reached.get(other, ())) for name in graph}
    large = sorted((circle for circle in circles if len(circle) > 2), key=len, reverse=True)
    return Check(
        "import circles of more than two modules", len(large), 0, tuple(", ".join(sorted(each)) for each in large)
    )


def imports_in_functions() -> Check:
    """Imports of the package's own modules that are put off until a function runs."""
    late = [
        f"{name} imports {target}" for name, path in modules().items() for target, inside in imports_of(path) if inside
    ]
    return Check("imports inside functions", len(late), 25, tuple(late))


def prose(path: str) -> str:
    """A document without its code."""
    return re.sub(r"```[\s\S]*?```", "", text(path))


def long_documents() -> Iterator[Check]:
    """README and DESIGN are short, README's prose is plain, and all that is written by hand can be read in a day."""
    for path, limit in (("README.md", 1200), ("DESIGN.md", 2000)):
        yield Check(f"{path}: words outside code", len(re.findall(r"[A-Za-z']{2,}", prose(path))), limit)
    readme = prose("README.md")
    words = len(re.findall(r"[A-Za-z']{2,}", readme))
    yield Check("README.md: numbers per 1000 words", round(1000 * len(NUMBER.findall(readme)) / words), 30)
    lines = "\n".join(line for line in readme.splitlines() if not line.startswith("|"))
    lengths = sorted(len(each.split()) for each in re.split(r"(?<=[.!?])\s+", lines) if len(each.split()) > 3)
    yield Check("README.md: words of a sentence, 90th percentile", lengths[int(0.9 * len(lengths))], 32)
    sizes = Counter({path: len(text(path).split()) for path in pages()})
    largest = tuple(f"{path}: {size}" for path, size in sizes.most_common())
    yield Check("words of documents written by hand", sizes.total(), 32_000, largest)
    dated = [f"{path}: {date}" for path in pages() for date in DATE.findall(text(path))]
    yield Check("dates outside docs/results", len(dated), 0, tuple(dated))


def assertions_on_texts() -> Check:
    """Tests that look at the wording of a message: they make prose hard to change."""
    counts = Counter()
    for path in under("tests/py/", ends=(".py",)):
        counts[path] = len(re.findall(r"match=", text(path)))
    for path in under("tests/", ends=(".cpp",)):
        counts[path] = len(re.findall(r"HasSubstr|EXPECT_STREQ|\.what\(\)", text(path)))
    most = tuple(f"{path}: {count}" for path, count in counts.most_common() if count)
    return Check("assertions on the text of messages", counts.total(), 200, most)


def policies_that_see_devices() -> Check:
    """A policy decides on what the state says; the device's interface is the engine's."""
    sides = re.compile(r"src/core/(policies|policy_support|tuning|partitioning|predictors|priorities)/")
    leaks = [path for path in cpp() if sides.match(path) and re.search(r'#include "[^"]*\bgpu\.hpp"', text(path))]
    return Check("policy sources that include the device's interface", len(leaks), 0, tuple(leaks))


def openings() -> Check:
    """Comments that begin in the middle of a sentence."""
    opening = re.compile(r"^\s*///? (Of|Likewise)\b")
    found = [
        f"{path}:{number}"
        for path in cpp()
        for number, line in enumerate(text(path).splitlines(), 1)
        if opening.match(line)
    ]
    return Check("comments that begin with Of or Likewise", len(found), 0, tuple(found))


def checks() -> Iterator[Check]:
    """All of them, in the order in which they are printed."""
    groups: tuple[tuple[str, Callable[[], list[str]]], ...] = (
        ("src", lambda: cpp()),
        ("python", python),
        ("documents", pages),
    )
    for name, paths in groups:
        yield words_per_thousand(f"words for persons per 1000, {name}", paths(), PERSONS, 1.5)
        yield words_per_thousand(f"metaphors per 1000 words, {name}", paths(), METAPHORS, 0)
    yield openings()
    yield split_classes()
    yield crowded_folders()
    yield repeated_type_names()
    yield import_circles()
    yield imports_in_functions()
    yield from long_documents()
    yield assertions_on_texts()
    yield policies_that_see_devices()


def main() -> int:
    """Prints all checks; 1 if one has failed."""
    status = 0
    for check in checks():
        print(f"{'ok  ' if check.passed else 'FAIL'} {check.name}: {check.found:g} (limit {check.limit:g})")
        if not check.passed:
            status = 1
            print("".join(f"       {place}\n" for place in check.places[:SHOWN]), end="")
    return status


if __name__ == "__main__":
    sys.exit(main())
