# SPDX-License-Identifier: Apache-2.0
"""Pins the pages of arenas, once, so that a GPU copies without an intermediate buffer."""

from __future__ import annotations

import logging
import os
import threading
from typing import Any

from gpushare import _core
from gpushare.daemon.protocol.arena import Arena

LOG = logging.getLogger("gpushare.daemon.worker")
LARGEST_PART = 0.5
"""Part of the host's memory, for all clients together: pinned memory cannot be swapped out."""


class Pinning:
    """Pins arenas for a device. Copies with an arena that is not pinned are slower.

    Args:
        device: device of the session; a simulated one pins nothing.
        most_bytes: limit of pinned bytes.
    """

    def __init__(self, device: Any, most_bytes: int | None = None) -> None:
        core = getattr(device, "core", None)
        self._core = core if isinstance(core, _core.CudaDevice) else None
        self._most_bytes = round(LARGEST_PART * _host_bytes()) if most_bytes is None else most_bytes
        self._lock = threading.Lock()
        self.pinned_bytes = 0

    def pin(self, arena: Arena) -> None:
        """Pins an arena until it is closed."""
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
        """Subtracts bytes that are no longer pinned."""
        with self._lock:
            self.pinned_bytes -= size


class Pin:
    """A pinned arena."""

    def __init__(self, pinning: Pinning, buffer: _core.PinnedBuffer, size: int) -> None:
        self._pinning = pinning
        self._buffer: _core.PinnedBuffer | None = buffer
        self._size = size

    def close(self) -> None:
        """Unpins it before the memory is unmapped."""
        if self._buffer is not None:
            self._buffer.close()
            self._buffer = None
            self._pinning.give_back(self._size)


def _host_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
