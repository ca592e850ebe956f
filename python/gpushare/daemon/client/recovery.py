# SPDX-License-Identifier: Apache-2.0
"""Does again, on another worker, what a replay log says."""

from __future__ import annotations

import numpy as np

from gpushare.daemon.client.job import MOST_ATTEMPTS, DaemonJob
from gpushare.daemon.client.registrations import Registered
from gpushare.daemon.client.replay import ReplayLog, Upload
from gpushare.daemon.errors import DaemonGoneError, WorkerLostError

LONGEST_S = 3600.0


def replay(log: ReplayLog, registered: Registered, patience_s: float) -> None:
    """Uploads and jobs in their order. Jobs that had not ended are left running.

    Whoever submitted a job may have waited for another before, so every job of another application, and every upload,
    waits for those before it.

    Raises:
        WorkerLostError: this worker is lost, too.
    """
    steps = log.steps()
    before: list[DaemonJob] = []
    for step in steps:
        if isinstance(step, Upload) or any(each.application is not step.application for each in before):
            _wait_for(before)
            before = []
        if isinstance(step, Upload):
            _upload(step, registered, patience_s)
        elif (job := _again(step, registered)) is not None:
            before.append(job)
    _wait_for([each for each in before if each not in steps])  # who was told of a job's end may look at its results
    for array in {each.array for each in steps if isinstance(each, Upload) and each.array.is_freed}:
        array.give_back()


def _wait_for(jobs: list[DaemonJob]) -> None:
    for job in jobs:
        try:
            job.result(LONGEST_S)
        except DaemonGoneError:
            raise
        except Exception as error:  # whoever submitted it is told; here it only matters what it leaves behind
            _spoil(job, f"a job on it failed: {error}")


def _upload(step: Upload, registered: Registered, patience_s: float) -> None:
    array = step.array
    if not array.is_on(registered):
        array.allocate(registered, patience_s)
    values = np.zeros(array.shape, array.dtype) if step.values is None else step.values
    if values.size > 0:
        registered.write(array.handle_on(registered), values)


def _again(job: DaemonJob, registered: Registered) -> DaemonJob | None:
    """The job that now runs: itself, or another one like it where it has ended."""
    if job.error is not None:
        _spoil(job, "a job on it failed")
        return None
    if not job.has_ended and job.attempts >= MOST_ATTEMPTS:
        job.settle(WorkerLostError(f"job {job.name} was run {job.attempts} times, and its worker ended every time"))
        _spoil(job, "a job on it was lost")
        return None
    again = DaemonJob(job.submission, is_replayable=False, repeats=job) if job.has_ended else job
    again.submit_on(registered)
    if registered.link.lost is not None:
        raise registered.link.lost
    return again


def _spoil(job: DaemonJob, why: str) -> None:
    for array in job.submission.arrays:
        array.spoiled = why
