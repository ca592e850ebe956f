# SPDX-License-Identifier: Apache-2.0
"""Messages between a worker and its compile processes: length-prefixed maps in msgpack."""

from __future__ import annotations

import struct
from typing import Any, BinaryIO

LENGTH = struct.Struct("<Q")


def packed(message: dict[str, Any]) -> bytes:
    """The encoded message."""
    import msgpack

    body: bytes = msgpack.packb(message)
    return LENGTH.pack(len(body)) + body


def unpacked(body: bytes) -> dict[str, Any]:
    """Decodes a message.

    Raises:
        ValueError: the bytes are no message.
    """
    import msgpack

    message = msgpack.unpackb(body)
    if not isinstance(message, dict):
        raise ValueError(f"a message must be a map, got {type(message).__name__}")
    return message


def write(stream: BinaryIO, message: dict[str, Any]) -> None:
    """Writes one message."""
    stream.write(packed(message))
    stream.flush()


def read(stream: BinaryIO) -> dict[str, Any]:
    """Reads the next message.

    Raises:
        EOFError: the stream has ended.
    """
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        raise EOFError
    return unpacked(stream.read(LENGTH.unpack(head)[0]))
