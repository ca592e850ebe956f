# SPDX-License-Identifier: Apache-2.0
"""A client's way to whichever worker there is now: it connects again when one is lost, and does again what was lost."""

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
from gpushare.daemon.client.job import DaemonJob
from gpushare.daemon.client.link import Link
from gpushare.daemon.client.recovery import ReplayLog, replay
from gpushare.daemon.client.registrations import Registered
from gpushare.daemon.client.variable_places import VariablePlaces
from gpushare.daemon.errors import DaemonGoneError, WorkerLostError
from gpushare.daemon.protocol.limits import WELCOME_TIMEOUT_S

PAUSE_S = 0.1
MOST_WORKERS_ASKED = 3
_open: weakref.WeakSet[Connection] = weakref.WeakSet()


class Connection:
    """Any thread may use it; a forked process that does gets a link of its own.

    Args:
        path: of the server's socket.
        device: of the server's; None: its first.
        trusted_uids: of whom the server may be; None: of anybody.
        patience_s: how long an array may wait for memory.

    Attributes:
        log: what is done again.
        changing: held by who changes or cancels an application.
    """

    def __init__(self, path: Path, device: str | None, trusted_uids: Sequence[int] | None, patience_s: float) -> None:
        self.patience_s = patience_s
        self._where = path, device, trusted_uids
        self._closed = False
        self.start_anew()
        self.registered()
        _open.add(self)

    def start_anew(self) -> None:
        """Also after a fork: what there was is the parent's."""
        self.log = ReplayLog()
        self._variables = VariablePlaces()
        self.changing = threading.RLock()
        self._lock = threading.RLock()
        self._registered: Registered | None = None
        self._making: Link | None = None  # until what was lost has been done again on it
        self._jobs: weakref.WeakSet[DaemonJob] = weakref.WeakSet()

    @property
    def jobs(self) -> list[DaemonJob]:
        """Those that somebody still has, or that have not ended."""
        return list(self._jobs)

    def require_open(self) -> None:
        """Raise InvalidInput once it has been closed."""
        require(not self._closed, "the session has been finished: open another one")

    def close(self) -> None:
        """For good."""
        self._closed = True
        self._end_links()  # for which whoever has the lock may wait
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
        """The link to the worker there is now; what was lost with another has been done again."""
        with self._lock:
            self.require_open()
            if self._registered is None or self._registered.link.lost is not None:
                if self._registered is not None:
                    self._registered.link.settled.wait()  # what ended before is not run again
                    self._registered.close()
                try:
                    self._registered = self._connect()
                finally:
                    self._making = None
                self.require_open()
            return self._registered

    def ask(self, ask: Callable[[Registered], Any]) -> Any:
        """What can be asked of the next worker as well, if this one is lost meanwhile."""
        for _ in range(MOST_WORKERS_ASKED - 1):
            registered = self.registered()
            try:
                return ask(registered)
            except WorkerLostError:
                if registered.link.lost is None:
                    raise  # something else is lost
        return ask(self.registered())

    def uses_of(self, array: ArrayState) -> int | None:
        """So far; None: a job that may write it has not ended."""
        with self._lock:  # so that a job either is among these or counts as another use
            is_busy = any(array in each.submission.arrays and not each.has_ended_by_now() for each in self.jobs)
            return None if is_busy else array.uses

    def submit(self, job: DaemonJob, *, idempotent: bool = False) -> None:
        """Into the ring of the worker there is now."""
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
                self._lost(registered.link)  # perhaps before the log had the job

    def _connect(self) -> Registered:
        deadline = time.monotonic() + WELCOME_TIMEOUT_S
        lost = weakref.WeakMethod(self._lost)  # the reading thread must not keep a session that nobody has any more
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
        """Idempotent jobs are run again although nobody asks for anything."""
        if isinstance(link.lost, WorkerLostError) and self.log.has_unfinished:
            threading.Thread(target=self._recover, name="gpushare recovery", daemon=True).start()

    def _recover(self) -> None:
        try:
            self.registered()
        except Exception as error:  # who waits for a job must hear of it
            for job in self.jobs:
                job.settle(error)


def _has_variables(job: DaemonJob, registered: Registered) -> bool:
    """Then what it finds there would be lost with its worker."""
    submission = job.submission
    try:
        return registered.launcher(submission.kernel, submission.block, submission.shared_bytes).module is not None
    except DaemonGoneError:  # it is lost just now, and the job hears of that as it is submitted
        return False


def _close(link: weakref.ref[Link]) -> None:
    """A session that nobody has any more. The link's own thread keeps it as long as it is connected."""
    if (there := link()) is not None:
        there.close()


def _start_all_anew() -> None:
    for connection in list(_open):
        connection.start_anew()


os.register_at_fork(after_in_child=_start_all_anew)
