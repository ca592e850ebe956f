# SPDX-License-Identifier: Apache-2.0
"""A client's connection to one worker, from the first message until either ends."""

from __future__ import annotations

import contextlib
import itertools
import os
import select
import socket
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from gpushare._core import InvalidInput
from gpushare.daemon.errors import DaemonGoneError, ProtocolError, RefusedError, WorkerLostError, from_message
from gpushare.daemon.limits import PROTOCOL_VERSION, WELCOME_TIMEOUT_S
from gpushare.daemon.peer import peer_of
from gpushare.daemon.reply import Reply
from gpushare.daemon.wire import Channel, Message, close_all

MOST_FREED_AT_ONCE = 1000
OnEnded = Callable[[Exception | None], None]
_open: weakref.WeakSet[Link] = weakref.WeakSet()


class Link:
    """Requests of any thread go out, their answers come back, and jobs' ends are told to whoever watches them.

    Args:
        path: of the server's socket.
        device: of the server's; None: its first.
        trusted_uids: of whom the server may be; None: of anybody.
        on_lost: called once it can be used no more, when all who waited have been told.

    Attributes:
        welcome: what the worker said of itself.
    """

    def __init__(
        self,
        path: Path,
        device: str | None = None,
        trusted_uids: Sequence[int] | None = None,
        on_lost: Callable[[Link], None] = lambda _: None,
    ) -> None:
        self._pid = os.getpid()
        self._path = path
        self._channel = Channel(_connected(path, trusted_uids))
        self._numbers = itertools.count(1)
        self._replies: dict[int, Reply] = {}
        self._jobs: dict[int, tuple[int, OnEnded]] = {}
        self._freed: deque[int] = deque()
        self._wake, self._woken = socket.socketpair()
        self._woken.setblocking(False)
        self._wake.setblocking(False)
        weakref.finalize(self, _close_both, self._wake, self._woken)  # no sooner: arrays may go at any time
        self._lock = threading.Lock()
        self._lost: Exception | None = None
        self._closed = False
        self._on_lost = on_lost
        try:
            self.welcome = self._greeted(device)
        except BaseException:
            self._channel.release()
            raise
        _open.add(self)
        threading.Thread(target=self._read, name="gpushare client", daemon=True).start()

    @property
    def is_foreign(self) -> bool:
        """Does it belong to the process that this one was forked from?"""
        return self._pid != os.getpid()

    @property
    def lost(self) -> Exception | None:
        """Why it can be used no more."""
        if self.is_foreign:
            return InvalidInput(
                f"this belongs to process {self._pid}, from which this one was forked: make its own of the session"
            )
        return self._lost

    def request(self, verb: str, *descriptors: int, timeout_s: float | None = None, **fields: Any) -> Any:
        """Asks, and waits for the answer.

        Raises:
            InvalidInput: or whatever else the worker answers.
            WorkerLostError: the worker has ended.
            DaemonGoneError: the server has ended.
        """
        return self.begin(verb, *descriptors, **fields).result(timeout_s)

    def begin(self, verb: str, *descriptors: int, **fields: Any) -> Reply:
        """Asks; the answer comes later."""
        if self.lost is not None:
            raise self.lost
        self._send_freed()  # its memory may be what this asks for
        return self._begin(verb, descriptors, fields)

    def _begin(self, verb: str, descriptors: Sequence[int], fields: Message) -> Reply:
        number = next(self._numbers)
        reply = Reply()
        with self._lock:
            if self._lost is not None:
                raise self._lost
            self._replies[number] = reply
        try:
            self._channel.send({"v": PROTOCOL_VERSION, "id": number, "do": verb, **fields}, descriptors)
        except ProtocolError:
            self._replies.pop(number, None)
            raise
        except OSError as error:
            self._end(error)  # the reply is told
        return reply

    def watch(self, job: int, application: int, on_ended: OnEnded) -> None:
        """``on_ended`` is told, in the reading thread, how the job ended."""
        with self._lock:
            if self._lost is None:
                self._jobs[job] = (application, on_ended)
                return
        on_ended(self._lost)

    def unwatch(self, job: int) -> None:
        """It was not submitted after all."""
        self._jobs.pop(job, None)

    def free(self, handle: int) -> None:
        """Gives an array back soon. Takes no lock: a garbage collector may call it anywhere."""
        self._freed.append(handle)
        if self._pid == os.getpid():
            with contextlib.suppress(OSError):  # it has been woken already, or has ended
                self._wake.send(b"x")

    def close(self) -> None:
        """Ends it; jobs that have not ended fail."""
        if self._pid != os.getpid():
            return
        self._closed = True
        self._channel.close()

    def forget_after_fork(self) -> None:
        """In the child: the connection is the parent's alone."""
        self._channel.forget()

    def _greeted(self, device: str | None) -> Message:
        name = Path(sys.argv[0]).name or "python"
        hello = {"v": PROTOCOL_VERSION, "id": 0, "do": "hello", "device": device, "name": name[:200]}
        ends_s = time.monotonic() + WELCOME_TIMEOUT_S
        timer = threading.Timer(WELCOME_TIMEOUT_S, self._channel.close)
        timer.daemon = True
        timer.start()
        try:
            self._channel.send(hello)
            answer, descriptors = self._channel.receive()
        except (EOFError, OSError) as error:
            why = f"nothing came for {WELCOME_TIMEOUT_S:g} s" if time.monotonic() >= ends_s else error
            raise WorkerLostError(f"the server at {self._path} does not answer: {why}") from error
        finally:
            timer.cancel()
        close_all(descriptors)
        if "error" in answer:
            raise from_message(answer["error"])
        return answer["ok"]

    def _read(self) -> None:
        woken = self._woken.fileno()
        ready = select.poll()
        ready.register(woken, select.POLLIN)
        ready.register(self._channel.fileno(), select.POLLIN)
        try:
            while True:
                for descriptor, _ in ready.poll():
                    if descriptor == woken:
                        self._woken.recv(4096)
                        self._send_freed()
                    else:
                        self._take(*self._channel.receive())
        except Exception as error:  # of whatever kind: somebody waits, and has to hear of it
            self._end(error)
        finally:
            self._channel.release()

    def _send_freed(self) -> None:
        while handles := _taken(self._freed, MOST_FREED_AT_ONCE):
            self._begin("free", (), {"arrays": handles})

    def _take(self, message: Message, descriptors: list[int]) -> None:
        if "event" not in message:
            reply = self._replies.pop(message.get("id", -1), None)
            if reply is None:
                return close_all(descriptors)
            error = message.get("error")
            return reply.answer(message.get("ok"), from_message(error) if error else None, descriptors)
        close_all(descriptors)
        if message["event"] == "ended":
            for job, error in message["jobs"]:
                _, on_ended = self._jobs.pop(job, (0, None))
                if on_ended is not None:
                    on_ended(from_message(error) if error else None)
        elif message["event"] == "dropped":
            self._lose(from_message(message["error"]))
        elif message["event"] == "lost":
            failed = set(message["applications"])
            self._lose(from_message(message["error"]), failed, from_message(message["failure"]))
        return None

    def _end(self, error: Exception) -> None:
        """The connection has ended, and nobody said why."""
        if self._closed:
            self._lose(InvalidInput("the session has been finished: open another one"))
        elif _answers(self._path):
            self._lose(
                WorkerLostError(f"the worker has ended, and with it what was on the GPU ({error}); submit again")
            )
        else:
            self._lose(DaemonGoneError(f"the server at {self._path} has ended ({error}): start gpushare serve"))

    def _lose(self, error: Exception, failed: set[int] = frozenset(), failure: Exception | None = None) -> None:
        with self._lock:
            if self._lost is not None:
                return
            self._lost = error
            replies, self._replies = self._replies, {}
            jobs, self._jobs = self._jobs, {}
        self._channel.close()
        for reply in replies.values():
            reply.answer(None, error, [])
        for application, on_ended in jobs.values():
            on_ended(failure if application in failed else error)
        self._on_lost(self)


def _taken(handles: deque[int], most: int) -> list[int]:
    """Other threads may take some, too."""
    taken: list[int] = []
    with contextlib.suppress(IndexError):
        while len(taken) < most:
            taken.append(handles.popleft())
    return taken


def _connected(path: Path, trusted_uids: Sequence[int] | None) -> socket.socket:
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
        raise DaemonGoneError(f"no server at {path} ({error.strerror or error}): start gpushare serve") from None
    except BaseException:
        connection.close()
        raise
    return connection


def _answers(path: Path) -> bool:
    """Does a server take connections there? One that is ending may do so for a moment longer."""
    time.sleep(0.05)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True


def _close_both(wake: socket.socket, woken: socket.socket) -> None:
    wake.close()
    woken.close()


def _forget_all_after_fork() -> None:
    for link in list(_open):
        link.forget_after_fork()


os.register_at_fork(after_in_child=_forget_all_after_fork)
