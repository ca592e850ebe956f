# SPDX-License-Identifier: Apache-2.0
"""Messages over a Unix socket: four bytes of length, little-endian, a map in msgpack, and descriptors."""

from __future__ import annotations

import array
import contextlib
import os
import select
import socket
import struct
import threading
import time
from collections.abc import Sequence
from typing import Any

from gpushare._core import InvalidInput
from gpushare.daemon.errors import ProtocolError
from gpushare.daemon.protocol.limits import MOST_DESCRIPTORS, MOST_MESSAGE_BYTES, SEND_TIMEOUT_S

LENGTH = struct.Struct("<I")
Message = dict[str, Any]


class Channel:
    """One end of a connection. Any thread may send; one thread receives."""

    def __init__(self, connection: socket.socket, send_timeout_s: float = SEND_TIMEOUT_S) -> None:
        connection.settimeout(None)
        seconds = int(send_timeout_s)
        timeout = struct.pack("ll", seconds, int((send_timeout_s - seconds) * 1e6))
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, timeout)
        self._connection = connection
        self._send_timeout_s = send_timeout_s
        self._sending = threading.Lock()

    def fileno(self) -> int:
        """Descriptor of the socket; -1 once closed."""
        return self._connection.fileno()

    def send(self, message: Message, descriptors: Sequence[int] = ()) -> None:
        """Sends one message.

        Raises:
            InvalidInput: it has what cannot be encoded (:func:`packed`).
            ProtocolError: it is larger than the peer accepts.
            TimeoutError: the peer does not read.
            OSError: the connection has ended.
        """
        data = packed(message)
        if len(data) > MOST_MESSAGE_BYTES + LENGTH.size:
            raise ProtocolError(f"a message of {len(data)} bytes; at most {MOST_MESSAGE_BYTES} can be sent")
        with self._sending:
            deadline = time.monotonic() + self._send_timeout_s
            try:
                sent = socket.send_fds(self._connection, [data], descriptors) if descriptors else 0
                while sent < len(data):
                    sent += self._connection.send(memoryview(data)[sent:])
                    if sent < len(data) and time.monotonic() > deadline:
                        raise BlockingIOError
            except BlockingIOError:
                self.close()  # part of a message may have been sent, so no message can follow
                raise TimeoutError(f"the other side has not read for {self._send_timeout_s:g} s") from None

    def receive(self) -> tuple[Message, list[int]]:
        """The next message and its descriptors, which the caller has to close.

        Raises:
            EOFError: the connection has ended.
            ProtocolError: the bytes are not a message; the connection cannot be used any more.
            OSError: the connection has failed.
        """
        descriptors: list[int] = []
        try:
            (length,) = LENGTH.unpack(self._exactly(LENGTH.size, descriptors))
            if length > MOST_MESSAGE_BYTES:
                raise ProtocolError(
                    f"a message of {length} bytes was announced; at most {MOST_MESSAGE_BYTES} are taken"
                )
            return unpacked(self._exactly(length, descriptors)), descriptors
        except BaseException:
            close_all(descriptors)
            raise

    def _exactly(self, count: int, descriptors: list[int]) -> bytes:
        parts: list[bytes] = []
        space = socket.CMSG_SPACE(MOST_DESCRIPTORS * array.array("i").itemsize)
        while count > 0:
            part, ancillary, flags, _ = self._connection.recvmsg(count, space, socket.MSG_CMSG_CLOEXEC)
            descriptors += _descriptors_in(ancillary)
            _require_all(descriptors, bool(flags & socket.MSG_CTRUNC))
            if not part:
                raise EOFError("the connection has ended")
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

    def is_over(self) -> bool:
        """Whether the peer has closed it; messages from before may still be readable."""
        looking = select.poll()
        looking.register(self._connection, select.POLLRDHUP)
        return bool(looking.poll(0))

    def close(self) -> None:
        """Ends the connection for both sides and wakes the receiving thread."""
        with contextlib.suppress(OSError):  # it has ended already
            self._connection.shutdown(socket.SHUT_RDWR)

    def release(self) -> None:
        """Ends the connection; the descriptor is closed when no thread sends any more."""
        self.close()
        with self._sending:
            self._connection.close()

    def forget(self) -> None:
        """Closes the descriptor without ending the connection, as a forked process has to."""
        self._connection.close()


def packed(message: Message) -> bytes:
    """The encoded message.

    Raises:
        InvalidInput: a text is not of Unicode, or a number has more than 64 bits.
    """
    import msgpack

    try:
        body = msgpack.packb(message)
    except (UnicodeEncodeError, OverflowError) as error:
        raise InvalidInput(f"a request for the server cannot be sent: {error}") from error
    return LENGTH.pack(len(body)) + body


def unpacked(body: bytes) -> Message:
    """Decodes a message.

    Raises:
        ProtocolError: the bytes are not a map in msgpack.
    """
    import msgpack

    try:
        message = msgpack.unpackb(body, raw=False, strict_map_key=True)
    except (ValueError, TypeError, msgpack.UnpackException) as error:
        raise ProtocolError(f"a message is not msgpack: {type(error).__name__} {error}") from error
    if not isinstance(message, dict):
        raise ProtocolError(f"a message must be a map, got {type(message).__name__}")
    return message


def _descriptors_in(ancillary: Sequence[tuple[int, int, bytes]]) -> list[int]:
    found = array.array("i")
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            found.frombytes(data[: len(data) - len(data) % found.itemsize])
    return found.tolist()


def _require_all(descriptors: Sequence[int], some_are_missing: bool) -> None:
    """Raises ProtocolError unless all descriptors have arrived."""
    if len(descriptors) > MOST_DESCRIPTORS or (some_are_missing and len(descriptors) == MOST_DESCRIPTORS):
        raise ProtocolError(f"more than {MOST_DESCRIPTORS} descriptors came with one message")
    if some_are_missing:
        raise ProtocolError(
            "descriptors came with a message, and the receiving process has reached its limit of open files"
        )


def close_all(descriptors: Sequence[int]) -> None:
    """Closes descriptors that are not used."""
    for descriptor in descriptors:
        os.close(descriptor)
