# SPDX-License-Identifier: Apache-2.0
"""Finds the headers that a source may include: a cached result is stale when one of them changes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

LINE_GOES_ON = re.compile(r"(?:\\|\?\?/)\r?\n")
BLANK = r"(?:[ \t\f\v]|(?:\\|\?\?/)\r?\n|/\*.*?\*/)*+"
"""White space between the words of a directive. A comment may span lines; possessive repetition avoids exponential
time."""
HASH = r"(?:\#|%:|\?\?=)"
NAME = r"(?:<([^<>\n]+)>|\"([^\"\n]+)\")"
DIRECTIVE = re.compile(
    # Before a directive on its line there can be only the end of a comment. %: and ??= are other spellings of #. The
    # pattern also matches where no directive follows, so that text is not scanned again from the next line on.
    rf"(?:^|\*/){BLANK}(?:{HASH}{BLANK}(include(?:_next)?\b{BLANK})?)?|(__has_include(?:_next)?\b{BLANK}\(?{BLANK})",
    re.MULTILINE | re.DOTALL,
)
ON_A_LINE = re.compile(rf"^[ \t\f\v]*+{HASH}[ \t\f\v]*+include(?:_next)?[ \t\f\v]*+{NAME}", re.MULTILINE)
"""Directives that look like a comment's text: they may be part of a string, so they count."""
OPERAND = re.compile(NAME)
COMPILERS_OWN = Path("/")
"""The compiler's working folder, which it searches for names in quotes."""


def digest_of_headers(text: str, folders: Sequence[Path], toolkit: Sequence[str]) -> str | None:
    """A digest that changes with each header that the text may include; None where the headers are not known.

    Every directive counts, even in an inactive condition, and every file of that name. CUDA's headers are not read:
    they change with the toolkit.

    Args:
        text: the source.
        folders: search path of the user's headers, in order.
        toolkit: folders of CUDA's headers.
    """
    digest = hashlib.blake2b(digest_size=16)
    folders = [*folders, COMPILERS_OWN]
    seen: set[Path] = set()
    waiting = [(text, folders)]
    while waiting:
        including, looked_through = waiting.pop()
        for header in _headers(including):
            if header is None:
                return None
            paths = _found(header, looked_through)
            if not paths:
                digest.update(f"{header} {_found(header, [Path(each) for each in toolkit])[:1]}\n".encode())
            for path in (path for path in paths if path not in seen):
                seen.add(path)
                content = path.read_bytes()
                digest.update(f"{header} {path} {len(content)}\n".encode() + content)
                waiting.append((content.decode(errors="replace"), [path.parent, *folders]))
    return digest.hexdigest()


def _headers(text: str) -> list[str | None]:
    """The operand of each directive, in a fixed order; None for a macro."""
    found: list[str | None] = []
    # Also without joined lines: this joins lines that compilers do not join, such as those that end in ??/ in current
    # C++.
    for read in dict.fromkeys((text, LINE_GOES_ON.sub("", text))):
        ended = _without_open_comments(read)
        for directive in DIRECTIVE.finditer(ended):
            if directive[1] is not None or directive[2] is not None:
                operand = OPERAND.match(ended, directive.end())
                found.append((operand[1] or operand[2]) if operand else None)
        found += [operand[1] or operand[2] for operand in ON_A_LINE.finditer(read)]
    return found


def _without_open_comments(text: str) -> str:
    """Removes unclosed comments: searching for the missing end of each would take quadratic time."""
    last_end = text.rfind("*/") + 2 if "*/" in text else 0
    return text[:last_end] + text[last_end:].replace("/*", "  ")


def _found(header: str, folders: Sequence[Path]) -> list[Path]:
    paths = dict.fromkeys(folder / header for folder in folders)
    return [path for path in paths if path.is_file()]
