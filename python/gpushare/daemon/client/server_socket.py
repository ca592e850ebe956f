# SPDX-License-Identifier: Apache-2.0
"""Connects to a server's socket."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Sequence
from pathlib import Path

from gpushare.checks import require
from gpushare.daemon.errors import DaemonGoneError, RefusedError
from gpushare.daemon.protocol.peer import peer_of

LONGEST_PATH = 107
TOO_LONG = f"is too long for a socket, where a path has at most {LONGEST_PATH} bytes on Linux: name another"


def is_too_long(path: Path) -> bool:
    """Whether the path is too long for a socket's address."""
    return len(os.fsencode(path)) > LONGEST_PATH


def connected(path: Path, trusted_uids: Sequence[int] | None) -> socket.socket:
    """A connection to the server, if its user is among these; None: all users are trusted.

    Raises:
        RefusedError: it belongs to another user, or does not accept this one.
        DaemonGoneError: there is no server.
        InvalidInput: the path is too long for a socket.
    """
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(str(path))
        server = peer_of(connection)
        if trusted_uids is not None and server.uid not in trusted_uids:
            raise RefusedError(
                f"{path} is served by user {server.user}, not by you: name the socket if you trust that user"
            )
    except PermissionError as error:
        connection.close()
        raise error if isinstance(error, RefusedError) else RefusedError(f"{path}: you may not connect there") from None
    except OSError as error:
        connection.close()
        require(not is_too_long(path), f"{path}: {TOO_LONG}")
        raise DaemonGoneError(f"no server at {path} ({error.strerror or error}): start gpushare serve") from None
    except BaseException:
        connection.close()
        raise
    return connection


def answers(path: Path) -> bool:
    """Whether a server accepts connections there. A server that is ending may do so for a moment longer."""
    time.sleep(0.05)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True
