# SPDX-License-Identifier: Apache-2.0
"""Arrays, kernels and arenas that nothing in this process refers to any more, until the worker is told of it."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterator
from typing import TypeVar

from gpushare.daemon.protocol.wire import Message

MOST_AT_ONCE = 1000
Entry = TypeVar("Entry")


class GivenBack:
    """Takes no lock: a garbage collector may add to it anywhere."""

    def __init__(self) -> None:
        self._arrays: deque[tuple[int, int]] = deque()
        self._kernels: deque[tuple[int, int]] = deque()
        self._arenas: deque[int] = deque()

    def add_array(self, handle: int, last_job: int) -> None:
        """Jobs up to that one may use it."""
        self._arrays.append((handle, last_job))

    def add_kernel(self, number: int, last_job: int) -> None:
        """The same of a kernel."""
        self._kernels.append((number, last_job))

    def add_arena(self, number: int) -> None:
        """No copy through it is under way."""
        self._arenas.append(number)

    def messages(self) -> Iterator[tuple[str, Message]]:
        """What the worker is to be told: verb and fields."""
        for entries, verb, what in ((self._arrays, "free", "arrays"), (self._kernels, "unload", "kernels")):
            while gone := _taken(entries, MOST_AT_ONCE):
                numbers, jobs = zip(*gone, strict=True)
                yield verb, {what: list(numbers), "after": max(jobs)}
        while dropped := _taken(self._arenas, 1):
            yield "drop_arena", {"arena": dropped[0]}


def _taken(entries: deque[Entry], most: int) -> list[Entry]:
    """Other threads may take some, too."""
    taken: list[Entry] = []
    with contextlib.suppress(IndexError):
        while len(taken) < most:
            taken.append(entries.popleft())
    return taken
