# SPDX-License-Identifier: Apache-2.0
"""The socket's file: one server per path; files of ended servers are replaced; only the user can open it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
from pathlib import Path

from gpushare._core import InvalidInput
from gpushare.daemon.client.server_socket import TOO_LONG, is_too_long
from gpushare.daemon.settings import gid_of

BACKLOG = 128


class Listener:
    """A listening socket. A lock file beside it marks a running server; the kernel releases the lock with the process.

    Args:
        path: path of the socket's file.
        group: members of this group may connect, too.

    Raises:
        InvalidInput: another server has the path.
    """

    def __init__(self, path: Path, group: str | None = None) -> None:
        self.path = path
        self._lock = _locked(path.with_name(path.name + ".lock"), path)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._bind(group)
        except BaseException:
            self.socket.close()
            os.close(self._lock)
            raise

    def _bind(self, group: str | None) -> None:
        before = os.umask(0o177)
        try:
            if self.path.is_socket():
                self.path.unlink()  # the lock is free, so no server listens there
            self.socket.bind(str(self.path))
        except OSError as error:
            why = TOO_LONG if is_too_long(self.path) else f"a socket cannot be made there: {error.strerror or error}"
            raise InvalidInput(f"{self.path}: {why}") from error
        finally:
            os.umask(before)
        if group is not None:
            self._let_in(group)
        self.socket.listen(BACKLOG)

    def _let_in(self, group: str) -> None:
        try:
            os.chown(self.path, -1, gid_of(group))
            os.chmod(self.path, 0o660)
        except OSError as error:
            self.path.unlink(missing_ok=True)
            raise InvalidInput(f"{self.path}: cannot be given to group {group!r}: {error.strerror or error}") from error

    def close(self) -> None:
        """Stops listening. The lock file stays: without it two servers could lock two different files."""
        if self.socket.fileno() < 0:
            return
        self.path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)  # wakes accept()
        self.socket.close()
        os.close(self._lock)


def _locked(lock_path: Path, path: Path) -> int:
    try:
        lock = os.open(lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise InvalidInput(f"{lock_path}: cannot be made: {error.strerror}") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.read(lock, 32).decode(errors="replace").strip() or "unknown"
        os.close(lock)
        raise InvalidInput(f"{path}: a server (process {holder}) is there already") from None
    os.ftruncate(lock, 0)
    with contextlib.suppress(OSError):  # on a full disk, the message to another server has no number
        os.write(lock, f"{os.getpid()}\n".encode())
    return lock
