# SPDX-License-Identifier: Apache-2.0
"""What reaches a terminal or a log goes through here: names come from files and from other people's programs."""

from __future__ import annotations


def printable(text: str, *, lines: bool = False) -> str:
    r"""The text without what would move a terminal's cursor, change its title, or turn the order of what follows.

    Args:
        text: anybody's.
        lines: whether line breaks and tabs stay; in a name they could feign a line of somebody else's.

    >>> printable("alice\x1b[2J@3")
    'alice\\x1b[2J@3'
    >>> printable("one\ntwo"), printable("one\ntwo", lines=True)
    ('one\\ntwo', 'one\ntwo')
    """
    kept = "\n\t" if lines else ""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() or each in kept else repr(each)[1:-1] for each in text)
