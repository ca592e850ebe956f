# SPDX-License-Identifier: Apache-2.0
"""The way to a server that shares a GPU among processes."""

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
        path: of the server's socket; None: GPUSHARE_SOCKET, else the user's own server.
        device: one of the server's; None: its first.
        memory_patience_s: how long an array may wait until others have freed enough memory.

    Raises:
        DaemonGoneError: there is no server.
        DeviceLostError: there is one, which cannot open its device.
        RefusedError: the server does not let this user in, or is another user's and was not named.

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
