# SPDX-License-Identifier: Apache-2.0
"""The recent history of a worker's session, in the time base that all processes share."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class PastJob:
    """A launch, or a copy, which has an empty kernel name. Times are nanoseconds of ``time.monotonic_ns``.

    Attributes:
        began_ns: start of its first block; None: it has not started.
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
    """An application's quota for a period: per SM as text, and summed over SMs."""

    application: str
    quota: str
    blocks: int
    begin_ns: int
    end_ns: int


@dataclass(frozen=True)
class PastHold:
    """The number of SMs with blocks of an application, from a time on."""

    application: str
    sms: int
    time_ns: int


@dataclass(frozen=True)
class Past:
    """Each list is in order of time per application."""

    jobs: list[PastJob]
    quotas: list[PastQuota]
    holds: list[PastHold]

    def until(self, time_ns: int) -> Past:
        """The history as known at this time."""
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
    """The history of a session without a record: operations that ended in the last seconds, and unfinished ones."""
    found = session.history(seconds)
    offset_ns = time.monotonic_ns() - found.now_ns

    def shared(time_ns: int | None) -> int | None:
        return None if time_ns is None else time_ns + offset_ns

    jobs = [
        PastJob(name, kernel, shared(submitted), shared(began), None if state == "under way" else shared(end),
                state == "cancelled")
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
