# SPDX-License-Identifier: Apache-2.0
"""Arrays and arenas that are no longer referenced, until the worker has been told to free them."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterator
from typing import TypeVar

from gpushare.daemon.protocol.wire import Message

MOST_AT_ONCE = 1000
Entry = TypeVar("Entry")


class GivenBack:
    """The queue of released objects. Takes no lock: a garbage collector may add to it anywhere."""

    def __init__(self) -> None:
        self._arrays: deque[tuple[int, int]] = deque()
        self._arenas: deque[int] = deque()

    def add_array(self, handle: int, last_job: int) -> None:
        """Adds an array; jobs up to ``last_job`` may use it."""
        self._arrays.append((handle, last_job))

    def add_arena(self, number: int) -> None:
        """Adds an arena without a copy in flight."""
        self._arenas.append(number)

    def messages(self) -> Iterator[tuple[str, Message]]:
        """The messages to the worker: verb and fields."""
        while freed := _taken(self._arrays, MOST_AT_ONCE):
            handles, jobs = zip(*freed, strict=True)
            yield "free", {"arrays": list(handles), "after": max(jobs)}
        while dropped := _taken(self._arenas, 1):
            yield "drop_arena", {"arena": dropped[0]}


def _taken(entries: deque[Entry], most: int) -> list[Entry]:
    """Takes entries; other threads may take some concurrently."""
    taken: list[Entry] = []
    with contextlib.suppress(IndexError):
        while len(taken) < most:
            taken.append(entries.popleft())
    return taken
