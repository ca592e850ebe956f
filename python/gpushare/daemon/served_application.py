# SPDX-License-Identifier: Apache-2.0
"""A client's application, as the worker keeps it: its jobs end in order, and one thread waits for them."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gpushare.daemon.busy_time import BusyTime
from gpushare.daemon.errors import as_message
from gpushare.daemon.served_array import ServedArray

LONGEST_WAIT_S = 3600.0
MOST_IN_ONE_EVENT = 1000


@dataclass(frozen=True)
class WhatRuns:
    """A kernel's name, and how long its launch takes alone, where that is known."""

    kernel: str
    alone_ns: float | None


@dataclass(eq=False)
class ServedJob:
    """A job of a client.

    Attributes:
        number: by which the client knows it.
        job: the session's.
        arrays: that it uses.
        what: it runs.
        submitted_ns: when it came, as ``time.monotonic_ns`` says.
    """

    number: int
    job: Any
    arrays: list[ServedArray]
    what: WhatRuns
    submitted_ns: int


Ended = list[tuple[int, dict[str, Any] | None]]


class ServedApplication:
    """An application of the session, and whoever waits for its jobs.

    Args:
        application: the session's.
        on_ended: is told, in a thread of this application, which jobs have ended and how.
        is_fatal: asked of an error that a job ended with: does the worker end because of it?
    """

    def __init__(
        self,
        application: Any,
        on_ended: Callable[[Ended], None],
        is_fatal: Callable[[Exception], bool],
    ) -> None:
        self.application = application
        self.jobs_ended = 0
        self.turnaround_s = 0.0
        self._busy = BusyTime()
        self._on_ended = on_ended
        self._is_fatal = is_fatal
        self._cancelled = False
        self._worker_ends = False
        self._jobs: deque[ServedJob] = deque()
        self._changed = threading.Condition()
        self._closing = False
        self._thread: threading.Thread | None = None

    @property
    def name(self) -> str:
        """As the session knows it."""
        return self.application.name

    @property
    def unfinished(self) -> int:
        """Jobs that have not ended."""
        return len(self._jobs)

    @property
    def ntt(self) -> float | None:
        """Normalized turnaround so far: its time with a job in the system, over what its ended jobs take alone."""
        return self._busy.ntt

    def watch(self, number: int, job: Any, what: WhatRuns, arrays: list[ServedArray]) -> None:
        """A job has been submitted to the session."""
        with self._changed:
            self._busy.submitted(time.monotonic_ns())
            self._jobs.append(ServedJob(number, job, arrays, what, time.monotonic_ns()))
            if self._thread is None:
                self._thread = threading.Thread(target=self._wait, name=f"jobs of {self.name}", daemon=True)
                self._thread.start()
            self._changed.notify()

    def cancel(self) -> None:
        """Drops its jobs; the running one stops at the next block boundary."""
        self._cancelled = True
        self.application.cancel()

    def leave(self) -> None:
        """Cancels, and returns when nothing of it is on the device any more."""
        self.cancel()
        with self._changed:
            self._closing = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()

    def _wait(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._jobs or self._closing)
                if not self._jobs:
                    return
            ended: Ended = []
            while self._jobs and len(ended) < MOST_IN_ONE_EVENT:
                also = self._end(self._jobs[0], 0 if ended else LONGEST_WAIT_S)
                if also is None:
                    break
                ended.append(also)
            if ended:
                self._on_ended(ended)
            if self._worker_ends:
                return

    def _end(self, served: ServedJob, timeout_s: float) -> tuple[int, dict[str, Any] | None] | None:
        """How it ended; None while it has not."""
        error = None
        try:
            served.job.result(timeout=timeout_s)
        except TimeoutError:
            return None
        except Exception as failure:
            if not self._cancelled and self._is_fatal(failure):
                self._worker_ends = True  # and tells everybody
                return None
            error = as_message(failure)
        with self._changed:
            self._jobs.popleft()
            self._busy.ended(time.monotonic_ns(), served.what.alone_ns if error is None else None)
        self.jobs_ended += 1
        self.turnaround_s += (time.monotonic_ns() - served.submitted_ns) / 1e9
        for array in served.arrays:
            array.used()
        return served.number, error
