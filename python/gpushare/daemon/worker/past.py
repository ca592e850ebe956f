# SPDX-License-Identifier: Apache-2.0
"""What a worker's session did lately, in the time that all processes share."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any


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
