# SPDX-License-Identifier: Apache-2.0
"""Settles the futures of a session's jobs when the jobs have ended."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpushare._core import CoreSession
    from gpushare.session.job import Job

LONGEST_JOIN_S = 1.0


class JobWatcher:
    """Waits for watched jobs in one thread, which begins with the first of them and ends with the session.

    The thread references the core only, and the jobs that it waits for.
    """

    def __init__(self, core: CoreSession) -> None:
        self._core = core
        self._jobs: dict[int, Job] = {}
        self._thread: threading.Thread | None = None
        self._others: list[threading.Thread] = []
        self._lock = threading.Lock()

    def watch(self, number: int, job: Job) -> None:
        """Has the job settled once it has ended; ``number`` is its number in the core."""
        with self._lock:
            self._jobs[number] = job
            self._core.watch(number)
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name="gpushare futures", daemon=True)
                self._thread.start()

    def start(self, wait: Callable[[], None]) -> None:
        """Calls this in a thread of its own: it waits for a job and settles it, and ends with the session."""
        thread = threading.Thread(target=wait, name="gpushare future", daemon=True)
        with self._lock:
            self._others = [each for each in self._others if each.is_alive()] + [thread]
            thread.start()

    def _serve(self) -> None:
        while self._settle_ended():
            pass

    def _settle_ended(self) -> bool:
        """Settles the jobs that end next; False once the session is over and none is left."""
        numbers = self._core.await_watched()
        with self._lock:
            ended = [self._jobs.pop(number) for number in numbers]
            if not numbers and not self._jobs:
                self._thread = None
                return False
        for job in ended:
            job._wait(0)
            job._settle()
        return True

    def join(self) -> None:
        """Waits for the threads after the session's end, since they must not outlive the interpreter."""
        for thread in (self._thread, *self._others):
            if thread is not None and thread is not threading.current_thread():
                thread.join(LONGEST_JOIN_S)  # a callback of the program may not return
