# SPDX-License-Identifier: Apache-2.0
"""What a client's numbers stand for. Every client has tables of its own, so a number of another's means nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Generic, TypeVar

from gpushare._core import InvalidInput
from gpushare.daemon.protocol.limits import MOST_HANDLES

Entry = TypeVar("Entry")


class HandleTable(Generic[Entry]):
    """Numbers are never used twice, so one that has been given up is an error and nothing else."""

    def __init__(self, what: str, most: int = MOST_HANDLES) -> None:
        self._what = what
        self._most = most
        self._entries: dict[int, Entry] = {}
        self._next = 1
        self._lock = threading.Lock()

    def add(self, entry: Entry) -> int:
        """The number of a new entry."""
        with self._lock:
            if len(self._entries) >= self._most:
                raise InvalidInput(f"a client can have {self._most} {self._what}s: give some back first")
            handle, self._next = self._next, self._next + 1
            self._entries[handle] = entry
        return handle

    def put(self, handle: int, entry: Entry) -> None:
        """An entry whose number somebody else has given, who never gives it again."""
        with self._lock:
            self._entries[handle] = entry

    def __getitem__(self, handle: int) -> Entry:
        with self._lock:
            if handle not in self._entries:
                raise InvalidInput(f"this client has no {self._what} {handle}")
            return self._entries[handle]

    def take(self, handle: int) -> Entry:
        """The entry, which the table then has no more."""
        with self._lock:
            if handle not in self._entries:
                raise InvalidInput(f"this client has no {self._what} {handle}")
            return self._entries.pop(handle)

    def __iter__(self) -> Iterator[Entry]:
        with self._lock:
            return iter(list(self._entries.values()))

    def clear(self) -> None:
        """It has nothing any more."""
        with self._lock:
            self._entries.clear()

    def __len__(self) -> int:
        return len(self._entries)
