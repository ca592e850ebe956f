# SPDX-License-Identifier: Apache-2.0
"""A device's status for any number of pages: one connection, asked at most twice per second, and only while watched."""

from __future__ import annotations

import logging
import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpushare._core import DeviceError, InvalidInput
from gpushare.daemon.client.greeting import Wish
from gpushare.daemon.client.session import DaemonSession
from gpushare.daemon.errors import DaemonGoneError, RefusedError
from gpushare.daemon.priority import yield_processor

LOG = logging.getLogger("gpushare.daemon.http")
EVERY_S = 0.5
"""Interval between two requests for the status."""
RECENT_S = 1.0
"""A page waits for a status that is not older, for as long."""
WATCHED_S = 30.0
"""The connection is closed after this time without a page or a scrape."""
ERRORS = (DaemonGoneError, RefusedError, InvalidInput, DeviceError)


@dataclass(frozen=True)
class Snapshot:
    """What is known of a device.

    Attributes:
        status: the last status; None: there has not been one.
        age_s: its age, in seconds.
        error: why there is no newer one; None: nothing is known to be wrong.
    """

    status: dict[str, Any] | None
    age_s: float
    error: str | None


class WatchedDevice:
    """Asks for the status in a thread of its own, so that a worker that does not answer delays no page.

    Args:
        path: path of the server's socket.
        device: name of the device.
    """

    def __init__(self, path: Path, device: str) -> None:
        self.device = device
        self._path = path
        self._changed = threading.Condition()
        self._connecting = threading.Lock()
        self._session: DaemonSession | None = None
        self._snapshot = Snapshot(None, 0.0, None)
        self._asked_s = time.monotonic()  # when the last status came
        self._wanted_s = -WATCHED_S  # when a page was there
        self._closed = False
        threading.Thread(target=self._watch, name=f"http of {device}", daemon=True).start()

    def snapshot(self) -> Snapshot:
        """The last status; waits for a recent one for at most a second."""
        with self._changed:
            self._wanted_s = time.monotonic()
            self._changed.notify_all()
            self._changed.wait_for(self._is_recent, RECENT_S)
            return Snapshot(self._snapshot.status, time.monotonic() - self._asked_s, self._snapshot.error)

    def session(self) -> DaemonSession:
        """The connection, which the caller's thread may use; it may wait for a worker to start."""
        with self._changed:
            self._wanted_s = time.monotonic()
            self._changed.notify_all()
        return self._connected()

    def close(self) -> None:
        """Ends the connection and the thread."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._session is not None:
            self._session.close()

    def _is_recent(self) -> bool:
        is_known = self._snapshot.status is not None or self._snapshot.error is not None
        return self._closed or (is_known and time.monotonic() - self._asked_s < RECENT_S)

    def _watch(self) -> None:
        yield_processor()
        while not self._closed:
            with self._changed:
                is_watched = self._changed.wait_for(lambda: self._closed or self._is_watched(), WATCHED_S)
            if self._closed:
                return
            if is_watched:
                self._publish(*self._asked())
                time.sleep(EVERY_S)
            else:
                self._disconnect()

    def _is_watched(self) -> bool:
        return time.monotonic() - self._wanted_s < WATCHED_S

    def _asked(self) -> tuple[dict[str, Any] | None, str | None]:
        try:
            return dict(self._connected().status()), None
        except ERRORS as error:
            LOG.debug("no status of %s: %s", self.device, error)
            self._disconnect()
            return None, str(error)

    def _connected(self) -> DaemonSession:
        with self._connecting:
            if self._session is None:
                self._session = DaemonSession(self._path, Wish(self.device, watches=True), (os.getuid(),), 0.0)
            return self._session

    def _publish(self, status: dict[str, Any] | None, error: str | None) -> None:
        with self._changed:
            if status is not None:
                self._asked_s = time.monotonic()
            self._snapshot = Snapshot(status or self._snapshot.status, 0.0, error)
            self._changed.notify_all()

    def _disconnect(self) -> None:
        with self._connecting:
            session, self._session = self._session, None
        if session is not None:
            session.close()
