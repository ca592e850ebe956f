# SPDX-License-Identifier: Apache-2.0
"""Connects to the server that shares a GPU among processes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpushare.daemon.client.session import DaemonSession


def connect(
    path: str | Path | None = None, *, device: str | None = None, memory_patience_s: float = 60.0
) -> DaemonSession:
    """A session with the server (``gpushare serve``), with the methods of :class:`gpushare.Session`.

    Args:
        path: path of the server's socket; None: the environment variable GPUSHARE_SOCKET, else the server of this user.
        device: one of the server's devices; None: the first.
        memory_patience_s: seconds that an array waits for device memory that other applications hold.

    Raises:
        DaemonGoneError: there is no server.
        DeviceLostError: the server cannot open its device.
        RefusedError: the server does not accept this user; or it belongs to another user and ``path`` does not name it.

    >>> import gpushare as gs
    >>> with gs.connect() as session:  # doctest: +SKIP
    ...     x = session.array(np.ones(1000, np.float32))
    ...     session.application("alice").submit(kernel, grid=4, block=256, args=[x, 2.0, 1000]).result()
    """
    from gpushare.daemon.client.session import DaemonSession
    from gpushare.daemon.settings import default_socket

    chosen = path if path is not None else os.environ.get("GPUSHARE_SOCKET")
    trusted = None if chosen is not None else (os.getuid(), 0)
    return DaemonSession(default_socket() if chosen is None else Path(chosen), device, trusted, memory_patience_s)
