# SPDX-License-Identifier: Apache-2.0
"""Arrays, kernels and arenas without references, until the worker has been told to free them."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterator
from typing import TypeVar

from gpushare.daemon.protocol.wire import Message

MOST_AT_ONCE = 1000
Entry = TypeVar("Entry")


class ReleasedMemory:
    """Takes no lock: a garbage collector may add to it anywhere."""

    def __init__(self) -> None:
        self._arrays: deque[tuple[int, int]] = deque()
        self._kernels: deque[tuple[int, int]] = deque()
        self._arenas: deque[int] = deque()

    def add_array(self, handle: int, last_job: int) -> None:
        """Adds an array; jobs up to ``last_job`` may use it."""
        self._arrays.append((handle, last_job))

    def add_kernel(self, number: int, last_job: int) -> None:
        """Adds a kernel; jobs up to ``last_job`` may use it."""
        self._kernels.append((number, last_job))

    def add_arena(self, number: int) -> None:
        """Adds an arena without a copy in flight."""
        self._arenas.append(number)

    def messages(self) -> Iterator[tuple[str, Message]]:
        """The messages to the worker: verb and fields."""
        for entries, verb, what in ((self._arrays, "free", "arrays"), (self._kernels, "unload", "kernels")):
            while gone := _taken(entries, MOST_AT_ONCE):
                numbers, jobs = zip(*gone, strict=True)
                yield verb, {what: list(numbers), "after": max(jobs)}
        while dropped := _taken(self._arenas, 1):
            yield "drop_arena", {"arena": dropped[0]}


def _taken(entries: deque[Entry], most: int) -> list[Entry]:
    """Takes entries; other threads may take some concurrently."""
    taken: list[Entry] = []
    with contextlib.suppress(IndexError):
        while len(taken) < most:
            taken.append(entries.popleft())
    return taken
