# SPDX-License-Identifier: Apache-2.0
"""Which headers a source may read: what is compiled once must be compiled again when one of them changes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

LINE_GOES_ON = re.compile(r"(?:\\|\?\?/)\r?\n")
BLANK = r"(?:[ \t\f\v]|(?:\\|\?\?/)\r?\n|/\*.*?\*/)*+"
"""Between the words of a directive. A comment may span lines, and none may be read in two ways: that takes forever."""
HASH = r"(?:\#|%:|\?\?=)"
NAME = r"(?:<([^<>\n]+)>|\"([^\"\n]+)\")"
DIRECTIVE = re.compile(
    # What goes before a directive on its line is a comment's end, if anything. %: and ??= are other spellings of #.
    # Also where no directive follows, this matches: what has been read is not read again from the next line on.
    rf"(?:^|\*/){BLANK}(?:{HASH}{BLANK}(include(?:_next)?\b{BLANK})?)?|(__has_include(?:_next)?\b{BLANK}\(?{BLANK})",
    re.MULTILINE | re.DOTALL,
)
ON_A_LINE = re.compile(rf"^[ \t\f\v]*+{HASH}[ \t\f\v]*+include(?:_next)?[ \t\f\v]*+{NAME}", re.MULTILINE)
"""Also in what looks like a comment: it may be a part of a text."""
OPERAND = re.compile(NAME)
COMPILERS_OWN = Path("/")
"""It runs here, and looks here for names in quotes."""


def digest_of_headers(text: str, folders: Sequence[Path], toolkit: Sequence[str]) -> str | None:
    """Changes when a header that this text may include does; None where nobody can tell which ones it includes.

    Every directive counts, whether a condition leaves it out or not, and every file of that name. CUDA's own headers
    are not read: they change with the toolkit.

    Args:
        text: the source.
        folders: where the user's headers are looked for, in this order.
        toolkit: where CUDA's are.
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
    """What stands behind each directive, in a fixed order; None for a macro."""
    found: list[str | None] = []
    # As it is, too: lines are joined here that no compiler joins, such as those that end in ??/ in today's C++.
    for read in dict.fromkeys((text, LINE_GOES_ON.sub("", text))):
        ended = _without_open_comments(read)
        for directive in DIRECTIVE.finditer(ended):
            if directive[1] is not None or directive[2] is not None:
                operand = OPERAND.match(ended, directive.end())
                found.append((operand[1] or operand[2]) if operand else None)
        found += [operand[1] or operand[2] for operand in ON_A_LINE.finditer(read)]
    return found


def _without_open_comments(text: str) -> str:
    """Who looks for the end of one that has none reads all the rest, and would do so for each."""
    last_end = text.rfind("*/") + 2 if "*/" in text else 0
    return text[:last_end] + text[last_end:].replace("/*", "  ")


def _found(header: str, folders: Sequence[Path]) -> list[Path]:
    paths = dict.fromkeys(folder / header for folder in folders)
    return [path for path in paths if path.is_file()]
