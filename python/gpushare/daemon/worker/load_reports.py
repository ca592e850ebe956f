# SPDX-License-Identifier: Apache-2.0
"""Tells the supervisor what the worker has, by which clients are placed."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Callable

from gpushare.daemon.protocol.grant import LoadReport
from gpushare.daemon.protocol.wire import LENGTH, packed

EVERY_S = 0.1


def keep_reporting(supervisor: socket.socket, load: Callable[[], LoadReport]) -> None:
    """Sends every change, until the process ends."""
    told: LoadReport | None = None
    while True:
        now = load()
        if now != told:
            with contextlib.suppress(OSError):  # it does not read, or ends
                supervisor.send(packed(now.model_dump())[LENGTH.size :], socket.MSG_DONTWAIT)
                told = now
        time.sleep(EVERY_S)
