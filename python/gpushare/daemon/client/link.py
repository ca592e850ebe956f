# SPDX-License-Identifier: Apache-2.0
"""A client's connection to one worker: requests, answers, launches and their ends."""

from __future__ import annotations

import contextlib
import itertools
import os
import select
import socket
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from gpushare import _core
from gpushare._core import Cancelled, DeviceError, InvalidInput, JobStatus
from gpushare.daemon.client import open_links
from gpushare.daemon.client.greeting import ANY_DEVICE, Wish, greeted
from gpushare.daemon.client.loss import Loss
from gpushare.daemon.client.open_links import start_thread
from gpushare.daemon.client.released_memory import ReleasedMemory
from gpushare.daemon.client.reply import Reply
from gpushare.daemon.client.server_socket import answers, connected
from gpushare.daemon.errors import DaemonGoneError, ProtocolError, WorkerLostError, from_message
from gpushare.daemon.protocol.limits import PROTOCOL_VERSION
from gpushare.daemon.protocol.wire import Channel, Message, close_all
from gpushare.session.api import FINISHED

MOST_DELAY_MS = 10
"""Delay before jobs without a waiting thread are notified of their end, where many end in sequence: notifying takes the
GIL from the submitting thread."""
LONGEST_TELLING_S = 1.0
"""Time until a thread that took ends from the port has notified the jobs."""
ERRORS = {JobStatus.REFUSED: InvalidInput, JobStatus.WITHDRAWN: Cancelled}
LOST = (JobStatus.RETRYABLE, JobStatus.SUSPECT, JobStatus.CULPRIT)
"""Delay for jobs of a worker that ends: it sends the reason once all jobs have been notified."""


class Link:
    """Sends requests of any thread and receives answers; launches and their ends go through the port.

    A thread that waits for a job polls the port. One thread reads the socket and notifies jobs without a waiting
    thread. After a loss of the connection it stores the reason, and then notifies all jobs that have not ended.

    Args:
        path: path of the server's socket.
        wish: the device that it asks for.
        trusted_uids: users that are trusted as owners of the server; None: all.
        on_lost: called after the loss, when all waiting threads have been notified.
        on_begun: called before the worker has answered, which may take long; from then on the link can be closed.

    Attributes:
        welcome: the worker's welcome message.
        port: the port for launches.
        lost: the reason of the loss; None before it.
        is_foreign: it belongs to the parent of this forked process.
        settled: set once it is lost and every job has been notified.
    """

    def __init__(
        self,
        path: Path,
        wish: Wish = ANY_DEVICE,
        trusted_uids: Sequence[int] | None = None,
        on_lost: Callable[[Link], None] = lambda _: None,
        on_begun: Callable[[Link], None] = lambda _: None,
    ) -> None:
        self._pid = os.getpid()
        self._path = path
        self._channel = Channel(connected(path, trusted_uids))
        self._numbers = itertools.count(1)
        self._replies: dict[int, Reply] = {}
        self._given_back = ReleasedMemory()
        self._lost_jobs: list[tuple[Any, JobStatus, str]] = []
        self._loss: Loss | None = None
        self._waiting: list[int] = []  # one entry per waiting thread
        self._why = threading.Event()
        self.settled = threading.Event()
        self._wake, self._woken = socket.socketpair()
        self._woken.setblocking(False)
        self._wake.setblocking(False)
        weakref.finalize(self, _close_both, self._wake, self._woken)  # no sooner: arrays may be finalized at any time
        self._lock = threading.Lock()
        self.lost: Exception | None = None
        self.is_foreign = False
        self._closed = False
        self._on_lost = on_lost
        try:
            on_begun(self)
            self.welcome, self.port = greeted(self._channel, path, wish)
        except BaseException:
            self._channel.release()
            raise
        open_links.keep(self)
        start_thread(self._read, "gpushare client")

    def request(self, verb: str, *descriptors: int, timeout_s: float | None = None, **fields: Any) -> Any:
        """Sends a request and waits for the answer.

        Raises:
            InvalidInput: the request is not valid; or another error that the worker sends.
            WorkerLostError: the worker has ended.
            DaemonGoneError: the server has ended.
        """
        return self.begin(verb, *descriptors, **fields).result(timeout_s)

    def begin(self, verb: str, *descriptors: int, **fields: Any) -> Reply:
        """Sends a request; the answer arrives later."""
        if self.lost is not None:
            raise self.lost
        self._send_freed()  # the request may need the freed memory
        return self._begin(verb, descriptors, fields)

    def _begin(self, verb: str, descriptors: Sequence[int], fields: Message) -> Reply:
        number = next(self._numbers)
        reply = Reply(partial(self._undo, verb))
        with self._lock:
            if self.lost is not None:
                raise self.lost
            self._replies[number] = reply
        try:
            self._channel.send({"v": PROTOCOL_VERSION, "id": number, "do": verb, **fields}, descriptors)
        except (InvalidInput, ProtocolError):
            self._replies.pop(number, None)
            raise
        except OSError as error:
            self._end(error)  # the reply is ended with the error
        return reply

    def _undo(self, verb: str, answer: Any) -> None:
        """Releases objects that the worker has made for an interrupted request."""
        if verb == "array":
            self.free(answer)
        elif verb == "variable":
            self.free(answer["array"])
        elif verb in ("kernel", "model"):
            self.drop_kernel(answer)
        elif verb == "arena":
            self.drop_arena(answer)
        elif verb == "application":
            with contextlib.suppress(ConnectionError, InvalidInput):  # otherwise it was released with the link
                self._begin("cancel", (), {"application": answer})

    def wait_lost(self) -> Exception:
        """Waits for the reason of the loss, after another operation has detected it."""
        self._why.wait()
        assert self.lost is not None  # it is set before the event
        return self.lost

    def free(self, handle: int) -> None:
        """Frees an array soon. Takes no lock: a garbage collector may call it anywhere."""
        self._given_back.add_array(handle, self.port.last_job)
        if not self.is_foreign:
            self._rouse()

    def drop_kernel(self, number: int) -> None:
        """The same of a kernel."""
        self._given_back.add_kernel(number, self.port.last_job)
        if not self.is_foreign:
            self._rouse()

    def drop_arena(self, number: int) -> None:
        """Drops shared memory soon, in the same way."""
        self._given_back.add_arena(number)
        if not self.is_foreign:
            self._rouse()

    def wait_for(self, job: int, seconds: float) -> bool:
        """Waits until the job of this number has ended and is or will be notified. False: not in time."""
        self._waiting.append(job)
        try:
            return self.port.await_end(job, seconds, self._rouse)
        except _core.WorkerGone:
            pass  # the thread that reads the socket finds the reason and notifies the job
        except _core.ProtocolViolation:
            self._channel.close()  # later messages cannot be relied on
        finally:
            self._waiting.pop()
        return True

    @property
    def is_awaited(self) -> bool:
        """Whether a thread waits in the core for a job."""
        return bool(self._waiting)

    def _rouse(self) -> None:
        """Wakes the reading thread."""
        with contextlib.suppress(OSError):  # it has been woken already, or has ended
            self._wake.send(b"x")

    def close(self) -> None:
        """Closes it; jobs that have not ended fail."""
        if self.is_foreign:
            return
        self._closed = True
        self._channel.close()

    def forget_after_fork(self) -> None:
        """In a forked process: drops the connection, which belongs to the parent."""
        self.is_foreign = True
        owner = f"this belongs to process {self._pid}, from which this one was forked"
        self.lost = InvalidInput(f"{owner}: use the session's methods in this process")
        self._loss = Loss(self.lost)
        self._channel.forget()
        self._waiting.clear()

    def _read(self) -> None:
        woken, bell = self._woken.fileno(), self.port.bell
        ready = select.poll()
        for descriptor in (woken, bell, self._channel.fileno()):
            ready.register(descriptor, select.POLLIN)
        try:
            while True:
                for descriptor, _ in ready.poll(MOST_DELAY_MS if self._tell_ended() else None):
                    if descriptor == woken:
                        self._woken.recv(4096)
                        self._send_freed()
                    elif descriptor != bell:
                        self._take(*self._channel.receive())
                    elif not self.port.hear():
                        ready.unregister(bell)  # the socket has the reason
        except Exception as error:  # any exception: a waiting thread has to receive it
            self._end(error)
        finally:
            self._channel.release()
            self._tell_lost()

    def _send_freed(self) -> None:
        """A job in the ring may still use the arrays, so the worker waits for the job's number."""
        for verb, fields in self._given_back.messages():
            self._begin(verb, (), fields)

    def _take(self, message: Message, descriptors: list[int]) -> None:
        if "event" not in message:
            reply = self._replies.pop(message.get("id", -1), None)
            if reply is None:
                return close_all(descriptors)
            error = message.get("error")
            return reply.answer(message.get("ok"), from_message(error) if error else None, descriptors)
        close_all(descriptors)
        if message["event"] == "dropped":
            self._lose(Loss(from_message(message["error"])))
        elif message["event"] == "lost":
            self._lose(Loss.told_by(message))
        return None

    def _end(self, error: Exception) -> None:
        """Handles the end of a connection that ended without a reason."""
        if self._closed:
            why: Exception = InvalidInput(FINISHED)
        elif answers(self._path):
            why = WorkerLostError(f"the worker has ended, and its arrays and jobs are lost ({error}); submit again")
        else:
            why = DaemonGoneError(f"the server at {self._path} has ended ({error}): start gpushare serve")
        self._lose(Loss(why))

    def _lose(self, loss: Loss) -> None:
        with self._lock:
            if self.lost is not None:
                return
            self._loss, self.lost = loss, loss.error
            replies, self._replies = self._replies, {}
        self._channel.close()
        for reply in replies.values():
            reply.answer(None, loss.error, [])
        self._why.set()
        self.port.close()

    def _tell_ended(self) -> bool:
        """Notifies ended jobs; returns whether to repeat that soon."""
        ended, has_more = self.port.take_owners()
        self._tell(ended)
        return has_more

    def _tell_lost(self) -> None:
        self._why.wait()
        self._let_waiting_tell()
        self._tell(self.port.abandon())
        assert self._loss is not None  # it is set before the event
        for job, status, message in self._lost_jobs:
            self._loss.tell(job, status, message)
        self._lost_jobs.clear()
        self.settled.set()
        self._on_lost(self)

    def _let_waiting_tell(self) -> None:
        """Lets waiting threads notify their jobs, with the port closed, since ended jobs must not be repeated.

        The time is limited: a signal handler in one of the threads may wait for this.
        """
        ends_s = time.monotonic() + LONGEST_TELLING_S
        while self.is_awaited and time.monotonic() < ends_s:
            time.sleep(0.0005)

    def _tell(self, ended: list[tuple[Any, JobStatus | None, str]]) -> None:
        for job, status, message in ended:
            if status == JobStatus.DONE:
                job.end(None)
            elif status is None:
                assert self._loss is not None  # a port leaves jobs without a status after the loss alone
                self._loss.tell(job, None, "")
            elif status in LOST:
                self._lost_jobs.append((job, status, message))
            else:
                job.end(ERRORS.get(status, DeviceError)(message))


def _close_both(wake: socket.socket, woken: socket.socket) -> None:
    wake.close()
    woken.close()
