# SPDX-License-Identifier: Apache-2.0
"""Arenas that a GPU copies from and to without a detour: their pages are pinned, once."""

from __future__ import annotations

import logging
import os
import threading
from typing import Any

from gpushare import _core
from gpushare.daemon.protocol.arena import Arena

LOG = logging.getLogger("gpushare.daemon.worker.worker")
LARGEST_PART = 0.5
"""Of the host's memory, for all clients together: what is pinned cannot be swapped out."""


class Pinning:
    """Pins arenas for a device. Copies from and to one that is not pinned work as well, but slower.

    Args:
        device: of the session; a simulated one pins nothing.
        most_bytes: that may be pinned at a time.
    """

    def __init__(self, device: Any, most_bytes: int | None = None) -> None:
        core = getattr(device, "core", None)
        self._core = core if isinstance(core, _core.CudaDevice) else None
        self._most_bytes = round(LARGEST_PART * _host_bytes()) if most_bytes is None else most_bytes
        self._lock = threading.Lock()
        self.pinned_bytes = 0

    def pin(self, arena: Arena) -> None:
        """Until it is closed."""
        if self._core is None or not self._take(arena.size):
            return
        try:
            arena.pin = Pin(self, _core.PinnedBuffer(self._core, arena.view), arena.size)
        except _core.CudaError as error:
            self.give_back(arena.size)
            LOG.warning("shared memory of %d bytes is not pinned: %s", arena.size, error)

    def _take(self, size: int) -> bool:
        with self._lock:
            if self.pinned_bytes + size > self._most_bytes:
                return False
            self.pinned_bytes += size
            return True

    def give_back(self, size: int) -> None:
        """So much is pinned no more."""
        with self._lock:
            self.pinned_bytes -= size


class Pin:
    """An arena that is pinned."""

    def __init__(self, pinning: Pinning, buffer: _core.PinnedBuffer, size: int) -> None:
        self._pinning = pinning
        self._buffer: _core.PinnedBuffer | None = buffer
        self._size = size

    def close(self) -> None:
        """Before the memory is unmapped."""
        if self._buffer is not None:
            self._buffer.close()
            self._buffer = None
            self._pinning.give_back(self._size)


def _host_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
