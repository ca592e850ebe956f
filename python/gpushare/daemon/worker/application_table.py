# SPDX-License-Identifier: Apache-2.0
"""The applications of a client. There may be thousands, so no operation on one of them visits all."""

from __future__ import annotations

from gpushare.daemon.worker.handle_table import HandleTable
from gpushare.daemon.worker.served_application import ServedApplication


class ApplicationTable(HandleTable[ServedApplication]):
    """The table, which only the client's thread changes.

    Attributes:
        min_speeds: sum of the least speeds of the applications that have not been cancelled.
    """

    def __init__(self) -> None:
        super().__init__("application")
        self.min_speeds = 0.0
        self._names: set[str] = set()
        self._cancelled: dict[int, ServedApplication] = {}

    def has_name(self, name: str) -> bool:
        """Whether an application has this name in the session."""
        return name in self._names

    def put(self, handle: int, entry: ServedApplication) -> None:
        """Adds an application."""
        super().put(handle, entry)
        self._names.add(entry.name)
        self.min_speeds += entry.min_speed

    def cancel(self, handle: int) -> bool:
        """Cancels an application; returns whether it had not been cancelled before."""
        entry = self[handle]
        if entry.is_cancelled:
            return False
        entry.cancel()
        self.min_speeds -= entry.min_speed
        self._cancelled[handle] = entry
        return True

    def forget_cancelled(self) -> list[ServedApplication]:
        """Removes cancelled applications after their last block: until then the watchdog may report them.

        Returns:
            the removed ones.
        """
        ended = [(handle, entry) for handle, entry in self._cancelled.items() if entry.totals.unfinished == 0]
        for handle, entry in ended:
            self.take(handle)
            self._names.discard(entry.name)
            del self._cancelled[handle]
        return [entry for _, entry in ended]
