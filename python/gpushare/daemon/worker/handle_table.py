# SPDX-License-Identifier: Apache-2.0
"""Tables of a client's handles. Every client has its own tables, so handles of other clients are not valid."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Generic, TypeVar

from gpushare._core import InvalidInput
from gpushare.daemon.protocol.limits import MOST_HANDLES

Entry = TypeVar("Entry")


class HandleTable(Generic[Entry]):
    """Handles are never reused, so a handle that has been released is an error."""

    def __init__(self, what: str, most: int = MOST_HANDLES) -> None:
        self._what = what
        self._most = most
        self._entries: dict[int, Entry] = {}
        self._next = 1
        self._lock = threading.Lock()

    def add(self, entry: Entry) -> int:
        """Adds an entry; returns its handle."""
        with self._lock:
            if len(self._entries) >= self._most:
                raise InvalidInput(f"a client can have {self._most} {self._what}s: free some first")
            handle, self._next = self._next, self._next + 1
            self._entries[handle] = entry
        return handle

    def put(self, handle: int, entry: Entry) -> None:
        """Adds an entry under a handle of another source, which never reuses handles."""
        with self._lock:
            self._entries[handle] = entry

    def __getitem__(self, handle: int) -> Entry:
        with self._lock:
            if handle not in self._entries:
                raise InvalidInput(f"this client has no {self._what} {handle}")
            return self._entries[handle]

    def take(self, handle: int) -> Entry:
        """Removes and returns the entry."""
        with self._lock:
            if handle not in self._entries:
                raise InvalidInput(f"this client has no {self._what} {handle}")
            return self._entries.pop(handle)

    def __iter__(self) -> Iterator[Entry]:
        with self._lock:
            return iter(list(self._entries.values()))

    def clear(self) -> None:
        """Removes all entries."""
        with self._lock:
            self._entries.clear()

    def __len__(self) -> int:
        return len(self._entries)
