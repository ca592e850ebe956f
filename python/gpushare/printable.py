# SPDX-License-Identifier: Apache-2.0
"""Text for terminals, logs and messages. Names are untrusted: they come from files and from other users' programs."""

from __future__ import annotations

MOST_CHARACTERS = 200
"""Of a name that no user has chosen."""


def printable(text: str, *, lines: bool = False) -> str:
    r"""The text with control characters escaped: they could move a cursor, change a title or reorder text.

    Args:
        text: untrusted text.
        lines: whether line breaks and tabs stay; within a name a line break could forge another line of the output.

    >>> printable("alice\x1b[2J@3")
    'alice\\x1b[2J@3'
    >>> printable("one\ntwo"), printable("one\ntwo", lines=True)
    ('one\\ntwo', 'one\ntwo')
    """
    kept = "\n\t" if lines else ""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() or each in kept else repr(each)[1:-1] for each in text)


def own_name(file_name: str) -> str:
    r"""The name of what runs from a file, for a server: what names cannot have becomes a question mark.

    >>> own_name("it's\x1b[2J.py"), own_name("caf\udce9")
    ('it?s?[2J.py', 'caf?')
    """
    name = "".join(each if each.isprintable() and each not in "'\"" else "?" for each in file_name)
    return name[:MOST_CHARACTERS]


def counted(count: int, noun: str) -> str:
    """A number with its noun.

    >>> counted(1, "kernel"), counted(2, "kernel")
    ('1 kernel', '2 kernels')
    """
    return f"{count} {noun}{'s' * (count != 1)}"
