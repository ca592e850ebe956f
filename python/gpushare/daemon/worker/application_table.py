# SPDX-License-Identifier: Apache-2.0
"""A client's applications. There may be thousands, so that nothing goes through all of them for one that comes."""

from __future__ import annotations

from gpushare.daemon.worker.handles import HandleTable
from gpushare.daemon.worker.served_application import ServedApplication


class ApplicationTable(HandleTable[ServedApplication]):
    """Changed by the client's own thread.

    Attributes:
        min_speeds: promised to the applications that have not been cancelled, in all.
    """

    def __init__(self) -> None:
        super().__init__("application")
        self.min_speeds = 0.0
        self._names: set[str] = set()
        self._cancelled: dict[int, ServedApplication] = {}

    def has_name(self, name: str) -> bool:
        """Is one there that the session knows so?"""
        return name in self._names

    def put(self, handle: int, entry: ServedApplication) -> None:
        """A new one."""
        super().put(handle, entry)
        self._names.add(entry.name)
        self.min_speeds += entry.min_speed

    def cancel(self, handle: int) -> bool:
        """Whether it had not been cancelled before."""
        entry = self[handle]
        if entry.is_cancelled:
            return False
        entry.cancel()
        self.min_speeds -= entry.min_speed
        self._cancelled[handle] = entry
        return True

    def forget_cancelled(self) -> None:
        """Not before the last block has ended: until then the watchdog looks at it, and a fault may be its own."""
        for handle, entry in list(self._cancelled.items()):
            if entry.totals.unfinished == 0:
                self.take(handle)
                self._names.discard(entry.name)
                del self._cancelled[handle]
