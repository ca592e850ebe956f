# SPDX-License-Identifier: Apache-2.0
"""Ends a server that was started for its clients once it has none."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Callable

FIRST_CLIENT_S = 60.0
"""Longest wait for the first client, in seconds."""
ENDED = select.POLLRDHUP | select.POLLHUP | select.POLLERR


class WhileUsed:
    """Calls ``end`` once the last connection has ended, or if none has been made.

    Args:
        end: called in a separate thread.
        first_client_s: longest wait for the first connection, in seconds.
    """

    def __init__(self, end: Callable[[], None], first_client_s: float = FIRST_CLIENT_S) -> None:
        self._end = end
        self._connections: dict[int, socket.socket] = {}
        self._first = threading.Event()
        self._lock = threading.Lock()
        self._ready = select.poll()
        threading.Thread(target=self._watch, args=[first_client_s], name="while used", daemon=True).start()

    def add(self, connection: socket.socket) -> None:
        """Adds a client's connection, which remains the caller's."""
        own = connection.dup()
        with self._lock:
            self._connections[own.fileno()] = own
            self._ready.register(own, ENDED)
        self._first.set()

    def _watch(self, first_client_s: float) -> None:
        self._first.wait(first_client_s)
        while self._connections:
            for descriptor, _ in self._ready.poll(1000):  # a connection that is added meanwhile is polled the next time
                with self._lock:
                    self._ready.unregister(descriptor)
                    self._connections.pop(descriptor).close()
        self._end()
