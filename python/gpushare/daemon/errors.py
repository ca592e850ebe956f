# SPDX-License-Identifier: Apache-2.0
"""Errors of the server's clients, and errors as messages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gpushare._core import Cancelled, CudaError, DeviceError, InvalidInput, PolicyError
from gpushare.kernels.compile_error import CompileError


class DaemonGoneError(ConnectionError):
    """The server cannot be reached, or has ended.

    Attributes:
        retryable: whether it makes sense to try again at once, because another worker is being started.
    """

    retryable = False


class WorkerLostError(DaemonGoneError):
    """The process that held the GPU has ended, and the job or the array is lost; another one is being started.

    Submit again: the session connects automatically. Jobs with ``idempotent=True`` are repeated automatically.
    """

    retryable = True


class DeviceLostError(DaemonGoneError):
    """The server cannot open its device; the message has the reason. The server keeps trying.

    It is not known when that succeeds, so it is not ``retryable``; once the device is available, the same session goes
    on, as after the loss of a worker.
    """


class RefusedError(PermissionError):
    """The server's configuration does not allow this."""


class ProtocolError(ConnectionError):
    """The peer sends an invalid message, or has another version of the protocol."""


@contextmanager
def with_source(text: str) -> Iterator[None]:
    """Sources are not sent back by the server: a CompileError in this block gets this source."""
    try:
        yield
    except CompileError as error:
        raise CompileError(error.summary, log=error.log, text=text, options=error.options) from None


KINDS: dict[str, type[Exception]] = {
    kind.__name__: kind
    for kind in (
        InvalidInput,
        Cancelled,
        CudaError,
        DeviceError,
        PolicyError,
        DaemonGoneError,
        WorkerLostError,
        DeviceLostError,
        RefusedError,
        ProtocolError,
        TimeoutError,
    )
}


LONGEST_TEXT = 20_000
LONGEST_LOG = 200_000
"""In characters, each of which may take four bytes; a whole error has to fit into one message."""


def as_message(error: BaseException) -> dict[str, Any]:
    """The error as a message.

    >>> as_message(InvalidInput("no policy 'fifi'"))
    {'kind': 'InvalidInput', 'message': "no policy 'fifi'"}
    """
    if isinstance(error, CompileError):
        are_short = sum(map(len, error.options)) <= LONGEST_TEXT
        options = list(error.options) if are_short else [_cut(" ".join(error.options))]
        log = _cut(error.log, LONGEST_LOG)
        return {"kind": "CompileError", "message": _cut(error.summary), "log": log, "options": options}
    for kind in type(error).__mro__:
        if kind.__name__ in KINDS:
            return {"kind": kind.__name__, "message": _cut(str(error))}
    return {"kind": "DeviceError", "message": _cut(f"this is a bug in gpushare: {type(error).__name__}: {error}")}


def _cut(text: str, most: int = LONGEST_TEXT) -> str:
    """The text cut to the length of a message.

    >>> _cut("abcdef", 3)
    'abc [and 3 more characters]'
    """
    return text if len(text) <= most else f"{text[:most]} [and {len(text) - most} more characters]"


def from_message(message: Any) -> Exception:
    """The inverse of :func:`as_message`.

    >>> from_message({"kind": "InvalidInput", "message": "no"})
    InvalidInput('no')
    """
    if not isinstance(message, dict):
        return ProtocolError(f"the server's error message is not valid: {message!r}")
    text = str(message.get("message"))
    if message.get("kind") == "CompileError":
        options = message.get("options") or ()
        return CompileError(text, log=str(message.get("log", "")), text="", options=options)
    return KINDS.get(str(message.get("kind")), DeviceError)(text)
