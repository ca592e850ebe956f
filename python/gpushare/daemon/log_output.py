# SPDX-License-Identifier: Apache-2.0
"""The server's log, which waits for no reader: where a pipe is full or a terminal is stopped, lines are left out."""

from __future__ import annotations

import contextlib
import io
import os
import select
import socket
import stat
import sys
from collections.abc import Callable
from typing import TextIO

ATOMIC_BYTES = select.PIPE_BUF
"""As much as a pipe takes as a whole or not at all."""


class LogOutput(io.TextIOBase):
    """A text file for :class:`logging.StreamHandler`.

    Args:
        descriptor: of the log, which remains the caller's.
    """

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._put = _unwaiting(descriptor)
        self._lines_left_out = 0
        self._is_within_line = False

    def write(self, text: str) -> int:
        """Writes lines, or counts them for the next one that is written. Returns the number of characters of the text.

        Raises:
            OSError: the log cannot be written, as on a full disk.
        """
        before = "\n" if self._is_within_line else ""
        if self._lines_left_out > 0:
            were = "line was" if self._lines_left_out == 1 else "lines were"
            before += f"[{self._lines_left_out} {were} left out, as this log was not read]\n"
        data = (before + text).encode(errors="backslashreplace")
        written = 0
        with contextlib.suppress(BlockingIOError):
            while written < len(data):
                written += self._put(data[written : written + ATOMIC_BYTES])
        if written == len(data):
            self._lines_left_out, self._is_within_line = 0, False
        else:
            self._lines_left_out += 1
            self._is_within_line = self._is_within_line or written > 0
        return len(text)


def log_output() -> TextIO | LogOutput:
    """Standard error as a log; as it is where it is no file of the system."""
    try:
        return LogOutput(sys.stderr.fileno())
    except (AttributeError, io.UnsupportedOperation):  # closed, or replaced by a test
        return sys.stderr


def _unwaiting(descriptor: int) -> Callable[[bytes], int]:
    """A function that writes at once, and raises BlockingIOError where it would have to wait.

    Other processes have the same open file, so its own flags stay: pipes and terminals are opened once more.
    """
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISSOCK(mode):
        return lambda data: _sent(descriptor, data)
    if stat.S_ISFIFO(mode) or stat.S_ISCHR(mode):
        with contextlib.suppress(OSError):  # it belongs to another user
            flags = os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
            again = os.open(f"/proc/self/fd/{descriptor}", flags)
            return lambda data: os.write(again, data)
    return lambda data: _write_if_ready(descriptor, data)


def _sent(descriptor: int, data: bytes) -> int:
    connection = socket.socket(fileno=descriptor)
    try:
        return connection.send(data, socket.MSG_DONTWAIT)
    finally:
        connection.detach()


def _write_if_ready(descriptor: int, data: bytes) -> int:
    ready = select.poll()
    ready.register(descriptor, select.POLLOUT)
    if not ready.poll(0):
        raise BlockingIOError
    return os.write(descriptor, data)
