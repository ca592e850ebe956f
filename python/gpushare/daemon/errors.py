# SPDX-License-Identifier: Apache-2.0
"""What clients of the server raise beyond what a session of their own would, and errors as messages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gpushare._core import Cancelled, CudaError, DeviceError, InvalidInput, PolicyError
from gpushare.kernels.compile_error import CompileError


class DaemonGoneError(ConnectionError):
    """The server cannot be reached, or has ended.

    Attributes:
        retryable: whether to try again at once is of use, since another worker is being started.
    """

    retryable = False


class WorkerLostError(DaemonGoneError):
    """The process that held the GPU has ended, and with it the job or the array; another one is being started.

    Submit again: the session connects by itself. Jobs with ``idempotent=True`` are run again without being asked.
    """

    retryable = True


class DeviceLostError(DaemonGoneError):
    """The server is there, but cannot open its device: the message says why. It tries again by itself.

    Nobody knows when that succeeds, so it is not ``retryable``; once the device is back, the same session goes on, as
    after the loss of a worker.
    """


class RefusedError(PermissionError):
    """The server's configuration does not allow this."""


class ProtocolError(ConnectionError):
    """The other side says what is no message of this protocol, or of another version of it."""


@contextmanager
def with_source(text: str) -> Iterator[None]:
    """Sources do not travel back: a CompileError from within gets this one."""
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
"""In characters, each of which may take four bytes; all of an error has to fit into one message."""


def as_message(error: BaseException) -> dict[str, Any]:
    """The error as it travels.

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
    """So that it fits into a message.

    >>> _cut("abcdef", 3)
    'abc [and 3 more characters]'
    """
    return text if len(text) <= most else f"{text[:most]} [and {len(text) - most} more characters]"


def from_message(message: Any) -> Exception:
    """The error that :func:`as_message` made a message of.

    >>> from_message({"kind": "InvalidInput", "message": "no"})
    InvalidInput('no')
    """
    if not isinstance(message, dict):
        return ProtocolError(f"the server's error is none: {message!r}")
    text = str(message.get("message"))
    if message.get("kind") == "CompileError":
        options = message.get("options") or ()
        return CompileError(text, log=str(message.get("log", "")), text="", options=options)
    return KINDS.get(str(message.get("kind")), DeviceError)(text)
