# SPDX-License-Identifier: Apache-2.0
"""A client's connection to the current worker: after a loss it connects again and repeats what was lost."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from gpushare.checks import require
from gpushare.daemon.client.array import ArrayState
from gpushare.daemon.client.greeting import Wish
from gpushare.daemon.client.job import DaemonJob
from gpushare.daemon.client.link import Link
from gpushare.daemon.client.registrations import Registered
from gpushare.daemon.client.replay_log import ReplayLog, replay
from gpushare.daemon.client.variable_places import VariablePlaces
from gpushare.daemon.errors import DaemonGoneError, WorkerLostError
from gpushare.daemon.protocol.limits import WELCOME_TIMEOUT_S
from gpushare.session.api import FINISHED

PAUSE_S = 0.1
MOST_WORKERS_ASKED = 3
_open: weakref.WeakSet[Connection] = weakref.WeakSet()


class Connection:
    """A connection that any thread may use; a forked process that uses it gets a link of its own.

    Args:
        path: path of the server's socket.
        wish: the device that it asks for.
        trusted_uids: users that are trusted as owners of the server; None: all.
        patience_s: seconds that an array waits for memory.

    Attributes:
        log: the operations to repeat.
        changing: lock for changing or cancelling an application.
    """

    def __init__(self, path: Path, wish: Wish, trusted_uids: Sequence[int] | None, patience_s: float) -> None:
        self.patience_s = patience_s
        self._where = path, wish, trusted_uids
        self._closed = False
        self.start_anew()
        self.registered()
        _open.add(self)

    def start_anew(self) -> None:
        """Starts without a link; also after a fork, since the parent owns the previous ones."""
        self.log = ReplayLog()
        self._variables = VariablePlaces()
        self.changing = threading.RLock()
        self._lock = threading.RLock()
        self._registered: Registered | None = None
        self._making: Link | None = None  # the new link, until lost operations have been repeated on it
        self._jobs: weakref.WeakSet[DaemonJob] = weakref.WeakSet()

    @property
    def jobs(self) -> list[DaemonJob]:
        """The jobs that are referenced or have not ended."""
        return list(self._jobs)

    def require_open(self) -> None:
        """Raises InvalidInput once the connection has been closed."""
        require(not self._closed, FINISHED)

    def close(self) -> None:
        """Closes the connection finally."""
        self._closed = True
        self._end_links()  # the thread that has the lock may be waiting for the links to end
        with self._lock:
            self._end_links()
            registered, self._registered = self._registered, None
        if registered is not None:
            registered.close()

    def _end_links(self) -> None:
        there = self._registered
        for link in (self._making, there and there.link):
            if link is not None:
                link.close()

    def registered(self) -> Registered:
        """The link to the present worker; operations that were lost with another have been repeated."""
        with self._lock:
            self.require_open()
            if self._registered is None or self._registered.link.lost is not None:
                if self._registered is not None:
                    self._registered.link.settled.wait()  # jobs that had ended before are not repeated
                    self._registered.close()
                try:
                    self._registered = self._connect()
                finally:
                    self._making = None
                self.require_open()
            return self._registered

    def ask(self, ask: Callable[[Registered], Any]) -> Any:
        """Makes a request, and repeats it on the next worker if this one is lost meanwhile."""
        for _ in range(MOST_WORKERS_ASKED - 1):
            registered = self.registered()
            try:
                return ask(registered)
            except WorkerLostError:
                if registered.link.lost is None:
                    raise  # another worker was lost
        return ask(self.registered())

    def uses_of(self, array: ArrayState) -> int | None:
        """The number of uses so far; None: a job that may write it has not ended."""
        with self._lock:  # so that a job either is in the list or counts as another use
            is_busy = any(array in each.submission.arrays and not each.has_ended_by_now() for each in self.jobs)
            return None if is_busy else array.uses

    def submit(self, job: DaemonJob, *, idempotent: bool = False) -> None:
        """Puts the job into the ring of the present worker."""
        with self._lock:
            registered = self._registered
            if registered is None or registered.link.lost is not None:
                registered = self.registered()
            idempotent = idempotent and not _has_variables(job, registered)
            job.is_replayable = self.log.can_replay(job.submission.arrays, idempotent)
            if job.is_replayable:
                self.log.submitted(job)
            try:
                job.submit_on(registered)
            except BaseException:
                if job.is_replayable:
                    self.log.refused(job)
                raise
            self._jobs.add(job)
            if registered.link.lost is not None:
                self._lost(registered.link)  # the loss may have been handled before the log had the job

    def _connect(self) -> Registered:
        deadline = time.monotonic() + WELCOME_TIMEOUT_S
        lost = weakref.WeakMethod(self._lost)  # the reading thread must not keep an unreferenced session alive
        while True:
            self.require_open()
            try:
                link = Link(*self._where, lambda link: (call := lost()) and call(link), self._begun)
                weakref.finalize(self, _close, weakref.ref(link))
                registered = Registered(link, self._variables)
                replay(self.log, registered, self.patience_s)
                return registered
            except WorkerLostError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(PAUSE_S)

    def _begun(self, link: Link) -> None:
        self._making = link
        if self._closed:
            link.close()

    def _lost(self, link: Link) -> None:
        """Repeats idempotent jobs even if the client makes no further call."""
        if isinstance(link.lost, WorkerLostError) and self.log.has_unfinished:
            threading.Thread(target=self._recover, name="gpushare recovery", daemon=True).start()

    def _recover(self) -> None:
        try:
            self.registered()
        except Exception as error:  # threads that wait for the job must receive the error
            for job in self.jobs:
                job.settle(error)


def _has_variables(job: DaemonJob, registered: Registered) -> bool:
    """Whether the job uses variables: their values would be lost with its worker."""
    submission = job.submission
    try:
        return registered.launcher(submission.kernel, submission.block, submission.shared_bytes).module is not None
    except DaemonGoneError:  # the worker has just been lost, and submitting the job reports it
        return False


def _close(link: weakref.ref[Link]) -> None:
    """Closes the link of an unreferenced session; the link's thread keeps the link alive while it is connected."""
    if (there := link()) is not None:
        there.close()


def _start_all_anew() -> None:
    for connection in list(_open):
        connection.start_anew()


os.register_at_fork(after_in_child=_start_all_anew)
