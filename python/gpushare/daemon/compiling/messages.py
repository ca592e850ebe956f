# SPDX-License-Identifier: Apache-2.0
"""What a worker and the processes that compile for it tell each other: maps in msgpack behind their length."""

from __future__ import annotations

import struct
from typing import Any, BinaryIO

LENGTH = struct.Struct("<Q")


def packed(message: dict[str, Any]) -> bytes:
    """The message as it travels."""
    import msgpack

    body: bytes = msgpack.packb(message)
    return LENGTH.pack(len(body)) + body


def unpacked(body: bytes) -> dict[str, Any]:
    """The message in these bytes.

    Raises:
        ValueError: there is none.
    """
    import msgpack

    message = msgpack.unpackb(body)
    if not isinstance(message, dict):
        raise ValueError(f"a message must be a map, got {type(message).__name__}")
    return message


def write(stream: BinaryIO, message: dict[str, Any]) -> None:
    """One message, whole."""
    stream.write(packed(message))
    stream.flush()


def read(stream: BinaryIO) -> dict[str, Any]:
    """The next message.

    Raises:
        EOFError: there is none.
    """
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        raise EOFError
    return unpacked(stream.read(LENGTH.unpack(head)[0]))
