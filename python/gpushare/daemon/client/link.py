# SPDX-License-Identifier: Apache-2.0
"""A client's connection to one worker, from the first message until either ends."""

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
from gpushare.daemon.client.awaited_threads import start_thread
from gpushare.daemon.client.greeting import greeted
from gpushare.daemon.client.loss import Loss
from gpushare.daemon.client.reach import answers, connected
from gpushare.daemon.client.released_arrays import GivenBack
from gpushare.daemon.client.reply import Reply
from gpushare.daemon.errors import DaemonGoneError, ProtocolError, WorkerLostError, from_message
from gpushare.daemon.protocol.limits import PROTOCOL_VERSION
from gpushare.daemon.protocol.wire import Channel, Message, close_all

MOST_DELAY_MS = 10
"""Until jobs that nobody waits for are told that they have ended, where many end one after the other: to do so takes
the GIL from whoever submits."""
LONGEST_TELLING_S = 1.0
"""Until a thread that was given ends has told of them."""
ERRORS = {JobStatus.REFUSED: InvalidInput, JobStatus.WITHDRAWN: Cancelled}
LOST = (JobStatus.RETRYABLE, JobStatus.SUSPECT, JobStatus.CULPRIT)
"""Of jobs whose worker ends: it says why when all of them have been told."""


class Link:
    """Requests of any thread go out and their answers come back; launches go through the port, their ends come back.

    Who waits for a job looks at the port itself. One thread reads the socket, and tells jobs that nobody waits for that
    they have ended. If the connection is lost, it says why, and then tells all jobs that have not ended.

    Args:
        path: of the server's socket.
        device: of the server's; None: its first.
        trusted_uids: of whom the server may be; None: of anybody.
        on_lost: called once it can be used no more, when all who waited have been told.
        on_begun: called before the worker has answered, which may take long; from then on it can be closed.

    Attributes:
        welcome: what the worker said of itself.
        port: for launches.
        lost: why it can be used no more, once that is so.
        is_foreign: it belongs to the process that this one was forked from.
        settled: set once it is lost and every job has been told.
    """

    def __init__(
        self,
        path: Path,
        device: str | None = None,
        trusted_uids: Sequence[int] | None = None,
        on_lost: Callable[[Link], None] = lambda _: None,
        on_begun: Callable[[Link], None] = lambda _: None,
    ) -> None:
        self._pid = os.getpid()
        self._path = path
        self._channel = Channel(connected(path, trusted_uids))
        self._numbers = itertools.count(1)
        self._replies: dict[int, Reply] = {}
        self._given_back = GivenBack()
        self._lost_jobs: list[tuple[Any, JobStatus, str]] = []
        self._loss: Loss | None = None
        self._waiting: list[int] = []  # as long as there are threads that wait
        self._why = threading.Event()
        self.settled = threading.Event()
        self._wake, self._woken = socket.socketpair()
        self._woken.setblocking(False)
        self._wake.setblocking(False)
        weakref.finalize(self, _close_both, self._wake, self._woken)  # no sooner: arrays may go at any time
        self._lock = threading.Lock()
        self.lost: Exception | None = None
        self.is_foreign = False
        self._closed = False
        self._on_lost = on_lost
        try:
            on_begun(self)
            self.welcome, self.port = greeted(self._channel, path, device)
        except BaseException:
            self._channel.release()
            raise
        open_links.keep(self)
        start_thread(self._read, "gpushare client")

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
        reply = Reply(partial(self._undo, verb))
        with self._lock:
            if self.lost is not None:
                raise self.lost
            self._replies[number] = reply
        try:
            self._channel.send({"v": PROTOCOL_VERSION, "id": number, "do": verb, **fields}, descriptors)
        except ProtocolError:
            self._replies.pop(number, None)
            raise
        except OSError as error:
            self._end(error)  # the reply is told
        return reply

    def _undo(self, verb: str, answer: Any) -> None:
        """Gives back what the worker has made for who was interrupted while waiting for it."""
        if verb == "array":
            self.free(answer)
        elif verb == "variable":
            self.free(answer["array"])
        elif verb in ("kernel", "model"):
            self.drop_kernel(answer)
        elif verb == "arena":
            self.drop_arena(answer)
        elif verb == "application":
            with contextlib.suppress(ConnectionError, InvalidInput):  # else it has gone with the link
                self._begin("cancel", (), {"application": answer})

    def wait_lost(self) -> Exception:
        """Why it can be used no more, where something else has said that already."""
        self._why.wait()
        return self.lost

    def free(self, handle: int) -> None:
        """Gives an array back soon. Takes no lock: a garbage collector may call it anywhere."""
        self._given_back.add_array(handle, self.port.last_job)
        if not self.is_foreign:
            self._rouse()

    def drop_kernel(self, number: int) -> None:
        """The same of a kernel."""
        self._given_back.add_kernel(number, self.port.last_job)
        if not self.is_foreign:
            self._rouse()

    def drop_arena(self, number: int) -> None:
        """Likewise, shared memory."""
        self._given_back.add_arena(number)
        if not self.is_foreign:
            self._rouse()

    def wait_for(self, job: int, seconds: float) -> bool:
        """Until the job of that number has ended: then it has been told, or will be. False: it has not in time."""
        self._waiting.append(job)
        try:
            return self.port.await_end(job, seconds, self._rouse)
        except _core.WorkerGone:
            pass  # whoever reads the socket finds out why, and tells the job
        except _core.ProtocolViolation:
            self._channel.close()  # nothing that is still said can be relied on
        finally:
            self._waiting.pop()
        return True

    @property
    def is_awaited(self) -> bool:
        """Is a thread in the core that waits for a job?"""
        return bool(self._waiting)

    def _rouse(self) -> None:
        """There is something to do for the thread that reads."""
        with contextlib.suppress(OSError):  # it has been woken already, or has ended
            self._wake.send(b"x")

    def close(self) -> None:
        """Ends it; jobs that have not ended fail."""
        if self.is_foreign:
            return
        self._closed = True
        self._channel.close()

    def forget_after_fork(self) -> None:
        """In the child: the connection is the parent's alone."""
        self.is_foreign = True
        whose = f"this belongs to process {self._pid}, from which this one was forked"
        self.lost = InvalidInput(f"{whose}: make its own of the session")
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
                        ready.unregister(bell)  # the socket says why
        except Exception as error:  # of whatever kind: somebody waits, and has to hear of it
            self._end(error)
        finally:
            self._channel.release()
            self._tell_lost()

    def _send_freed(self) -> None:
        """A job that is still in the ring may need them: the worker waits until it has seen it."""
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
        """The connection has ended, and nobody said why."""
        if self._closed:
            why = InvalidInput("the session has been finished: open another one")
        elif answers(self._path):
            why = WorkerLostError(f"the worker has ended, and with it what was on the GPU ({error}); submit again")
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
        """Is that worth doing again soon?"""
        ended, has_more = self.port.take_owners()
        self._tell(ended)
        return has_more

    def _tell_lost(self) -> None:
        self._why.wait()
        self._let_waiting_tell()
        self._tell(self.port.abandon())
        for job, status, message in self._lost_jobs:
            self._loss.tell(job, status, message)
        self._lost_jobs.clear()
        self.settled.set()
        self._on_lost(self)

    def _let_waiting_tell(self) -> None:
        """What has ended is not run again: so it is told first, by those too who hold it. Their port is closed by now.

        Not for ever: a signal's handler in one of them may wait for this.
        """
        ends_s = time.monotonic() + LONGEST_TELLING_S
        while self.is_awaited and time.monotonic() < ends_s:
            time.sleep(0.0005)

    def _tell(self, ended: list[tuple[Any, JobStatus | None, str]]) -> None:
        for job, status, message in ended:
            if status == JobStatus.DONE:
                job.end(None)
            elif status is None:
                self._loss.tell(job, None, "")
            elif status in LOST:
                self._lost_jobs.append((job, status, message))
            else:
                job.end(ERRORS.get(status, DeviceError)(message))


def _close_both(wake: socket.socket, woken: socket.socket) -> None:
    wake.close()
    woken.close()
