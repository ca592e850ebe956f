# SPDX-License-Identifier: Apache-2.0
"""Connects to the server that shares a GPU among processes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpushare.daemon.client.greeting import Wish
    from gpushare.daemon.client.session import DaemonSession


def connect(
    path: str | Path | None = None,
    *,
    device: str | None = None,
    memory_bytes: int = 0,
    memory_patience_s: float = 60.0,
) -> DaemonSession:
    """A session with the server (``gpushare serve``), with the methods of :class:`gpushare.Session`.

    Args:
        path: path of the server's socket; None: the environment variable GPUSHARE_SOCKET, else the server of this user.
        device: one of the server's devices; None: where the server has several, its placement chooses one.
        memory_bytes: device memory that will be needed, for the placement; 0: not known.
        memory_patience_s: seconds that an array waits for device memory that other applications hold.

    Raises:
        InvalidInput: ``path`` is none; or there is no such device, or none with so much memory.
        DaemonGoneError: there is no server.
        DeviceLostError: the server cannot open its device.
        RefusedError: the server does not accept this user; or it belongs to another user and ``path`` does not name it.

    >>> import gpushare as gs
    >>> with gs.connect() as session:  # doctest: +SKIP
    ...     x = session.array(np.ones(1000, np.float32))
    ...     session.application("alice").submit(kernel, grid=4, block=256, args=[x, 2.0, 1000]).result()
    """
    from gpushare.checks import MOST_BYTES, whole
    from gpushare.daemon.client.greeting import Wish

    whole("memory_bytes", memory_bytes, 0, MOST_BYTES)
    return _connected(path, Wish(device, memory_bytes), memory_patience_s)


def watching(path: str | Path | None, device: str | None) -> DaemonSession:
    """As :func:`connect`, for what runs nothing."""
    from gpushare.daemon.client.greeting import Wish

    return _connected(path, Wish(device, watches=True), 60.0)


def _connected(path: str | Path | None, wish: Wish, memory_patience_s: float) -> DaemonSession:
    from gpushare.checks import file_path
    from gpushare.daemon.client.session import DaemonSession
    from gpushare.daemon.settings import default_socket

    chosen = file_path(path, "path") if path is not None else os.environ.get("GPUSHARE_SOCKET")
    trusted = None if chosen is not None else (os.getuid(), 0)
    return DaemonSession(default_socket() if chosen is None else Path(chosen), wish, trusted, memory_patience_s)
