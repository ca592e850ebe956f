# SPDX-License-Identifier: Apache-2.0
"""Reaching a server at its socket."""

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
TOO_LONG = f"is too long for a socket, whose path has at most {LONGEST_PATH} bytes on Linux: name another"


def is_too_long(path: Path) -> bool:
    """For the address of a socket."""
    return len(os.fsencode(path)) > LONGEST_PATH


def connected(path: Path, trusted_uids: Sequence[int] | None) -> socket.socket:
    """A connection to the server there, if it is one of these users'; None: of anybody's.

    Raises:
        RefusedError: it is somebody else's, or does not let this user in.
        DaemonGoneError: there is none.
        InvalidInput: there can be none, as the path is too long.
    """
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(str(path))
        server = peer_of(connection)
        if trusted_uids is not None and server.uid not in trusted_uids:
            raise RefusedError(f"{path} is served by user {server.user}, not by you: name the socket if you trust them")
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
    """Does a server take connections there? One that is ending may do so for a moment longer."""
    time.sleep(0.05)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True
