# SPDX-License-Identifier: Apache-2.0
"""What a worker and its session did lately: samples of the status, and what the session remembers by itself."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpushare.daemon.worker.worker import Worker

LOG = logging.getLogger("gpushare.daemon.worker.history")
MOST_LOOKS = 6_000
LOOKS_PER_SECOND = 10
"""A snapshot takes the session a few microseconds; ten minutes of them are stored."""


@dataclass(frozen=True)
class Look:
    """A snapshot of the status.

    Attributes:
        time_ns: time of ``time.monotonic_ns``.
        unfinished: jobs per application that has some.
        blocks_done: finished blocks of the present launch per application, where the session has them.
    """

    time_ns: int
    policy: str
    used_bytes: int
    unfinished: dict[str, int]
    blocks_done: dict[str, int]


class History:
    """The snapshots, written by one thread of the worker and read by others."""

    def __init__(self) -> None:
        self._looks: deque[Look] = deque(maxlen=MOST_LOOKS)
        self._at_work: set[str] = set()

    def looked(self, look: Look) -> None:
        """Adds a snapshot. Idle applications are in the first snapshot after their last job only."""
        ended = dict.fromkeys(self._at_work - look.unfinished.keys(), 0)
        self._at_work = set(look.unfinished)
        self._looks.append(replace(look, unfinished=look.unfinished | ended))

    def between(self, since_ns: int, until_ns: int) -> list[Look]:
        """The snapshots of this window."""
        return [each for each in list(self._looks) if since_ns <= each.time_ns <= until_ns]


def look_at(worker: Worker) -> Look:
    """Takes a snapshot. Thousands of applications may be idle."""
    present = (each for client in worker.clients for each in client.applications)
    unfinished = {each.name: jobs for each in present if (jobs := each.totals.unfinished)}
    status = worker.session.status()
    worker.job_metrics.looked(status)
    blocks_done = {each.name: each.done for each in status.applications if each.kernel and each.name in unfinished}
    return Look(time.monotonic_ns(), worker.policy, worker.accounts.used_bytes, unfinished, blocks_done)


def keep_looking(history: History, ask: Callable[[], Look]) -> None:
    """Starts a thread that takes ten snapshots per second."""

    def look() -> None:
        while True:
            time.sleep(1 / LOOKS_PER_SECOND)
            try:
                history.looked(ask())
            except Exception:
                LOG.exception("the status cannot be read")
                time.sleep(1)

    threading.Thread(target=look, name="history", daemon=True).start()


@dataclass(frozen=True)
class PastJob:
    """A launch, or a copy, whose kernel is empty. All times are in nanoseconds, as ``time.monotonic_ns`` says.

    Attributes:
        began_ns: its first block; None: none of it has begun.
        end_ns: None while it has not ended.
    """

    application: str
    kernel: str
    submitted_ns: int
    began_ns: int | None
    end_ns: int | None
    is_cancelled: bool


@dataclass(frozen=True)
class PastQuota:
    """What the plans gave an application for a while: per SM in words, and on all SMs together."""

    application: str
    quota: str
    blocks: int
    begin_ns: int
    end_ns: int


@dataclass(frozen=True)
class PastHold:
    """On how many SMs an application had blocks, from a time on."""

    application: str
    sms: int
    time_ns: int


@dataclass(frozen=True)
class Past:
    """Each in order per application."""

    jobs: list[PastJob]
    quotas: list[PastQuota]
    holds: list[PastHold]

    def until(self, time_ns: int) -> Past:
        """What could be known then."""
        return Past(
            [_job_until(each, time_ns) for each in self.jobs if each.submitted_ns < time_ns],
            [replace(each, end_ns=min(each.end_ns, time_ns)) for each in self.quotas if each.begin_ns < time_ns],
            [each for each in self.holds if each.time_ns < time_ns],
        )


def _job_until(job: PastJob, time_ns: int) -> PastJob:
    if job.end_ns is not None and job.end_ns <= time_ns:
        return job
    began_ns = job.began_ns if job.began_ns is not None and job.began_ns < time_ns else None
    return replace(job, began_ns=began_ns, end_ns=None, is_cancelled=False)


def past_of(session: Any, seconds: float) -> Past:
    """Of a session that keeps no record; whatever ended in these last seconds, and what has not ended."""
    asked_ns = time.monotonic_ns()  # on a busy machine the answer may come late, and must not seem to be of the future
    found = session.history(seconds)
    offset_ns = asked_ns - found.now_ns

    def shared(time_ns: int) -> int:
        return time_ns + offset_ns

    jobs = [
        PastJob(name, kernel, shared(submitted), None if began is None else shared(began),
                None if state == "under way" else shared(end), state == "cancelled")
        for name, kernel, submitted, began, end, state in _rows(found.operations())
    ]  # fmt: skip
    quotas = [
        PastQuota(name, quota, blocks, shared(begin), shared(end))
        for name, quota, blocks, begin, end in _rows(found.quotas())
    ]
    holds = [PastHold(name, sms, shared(at)) for name, sms, at in _rows(found.holds())]
    return Past(jobs, quotas, holds)


def _rows(columns: dict[str, list[Any]]) -> Any:
    return zip(*columns.values(), strict=True)
