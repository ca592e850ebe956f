# SPDX-License-Identifier: Apache-2.0
"""Which headers a source may read: what is compiled once must be compiled again when one of them changes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

DIRECTIVE = re.compile(r"^[ \t]*#.*\binclude(?:_next)?\b(.*)$|__has_include(?:_next)?(.*)$", re.MULTILINE)
OPERAND = re.compile(r"^[\s(]*(?:<([^>]+)>|\"([^\"]+)\")")
LINE_GOES_ON = re.compile(r"\\\r?\n")


def digest_of_headers(text: str, folders: Sequence[Path], toolkit: Sequence[str]) -> str | None:
    """Changes when a header that this text may include does; None where nobody can tell which ones it includes.

    Every directive counts, whether a condition leaves it out or not. CUDA's own headers are not read: they change with
    the toolkit.

    Args:
        text: the source.
        folders: where the user's headers are looked for, in this order.
        toolkit: where CUDA's are.
    """
    digest = hashlib.blake2b(digest_size=16)
    seen: set[Path] = set()
    waiting = [(text, list(folders))]
    while waiting:
        including, looked_through = waiting.pop()
        for header in _headers(including):
            if header is None:
                return None
            path = _found(header, looked_through)
            if path is None:
                digest.update(f"{header} {_found(header, [Path(each) for each in toolkit])}\n".encode())
            elif path not in seen:
                seen.add(path)
                content = path.read_bytes()
                digest.update(f"{header} {path} {len(content)}\n".encode() + content)
                waiting.append((content.decode(errors="replace"), [path.parent, *folders]))
    return digest.hexdigest()


def _headers(text: str) -> list[str | None]:
    """What stands behind each directive, in a fixed order; None for a macro."""
    found: list[str | None] = []
    for directive in DIRECTIVE.finditer(LINE_GOES_ON.sub("", text)):
        operand = OPERAND.match(directive[1] if directive[1] is not None else directive[2])
        found.append((operand[1] or operand[2]) if operand else None)
    return found


def _found(header: str, folders: Sequence[Path]) -> Path | None:
    paths = (folder / header for folder in folders)
    return next((path for path in paths if path.is_file()), None)
