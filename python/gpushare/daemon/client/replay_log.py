# SPDX-License-Identifier: Apache-2.0
"""The log of a client's uploads and jobs, from which durable arrays are restored after the loss of a worker.

Replayed in order from the beginning, it gives the arrays the contents that they had. Uploads that later ones replaced,
and jobs without a remaining array, are removed from it.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np

from gpushare.daemon.client.array import ArrayState
from gpushare.daemon.client.job import MOST_ATTEMPTS, DaemonJob
from gpushare.daemon.client.registrations import Registered
from gpushare.daemon.errors import DaemonGoneError, WorkerLostError

MOST_STEPS = 4096
"""That are kept. Beyond them arrays count as spoiled until they are uploaded or downloaded."""


@dataclass(frozen=True, eq=False)
class Upload:
    """The array became this; None: zeros."""

    array: ArrayState
    values: np.ndarray | None


class ReplayLog:
    """Steps in order. Threads may use it."""

    def __init__(self) -> None:
        self._steps: list[Upload | DaemonJob] = []
        self._prune_at = 64
        self._lock = threading.Lock()

    def steps(self) -> list[Upload | DaemonJob]:
        """What has to be done again."""
        with self._lock:
            self._prune()
            return list(self._steps)

    @property
    def has_unfinished(self) -> bool:
        """Is there a job that would be run again and has not ended?"""
        with self._lock:
            return any(not isinstance(each, Upload) and not each.has_ended for each in self._steps)

    def uploaded(self, array: ArrayState, values: np.ndarray | None) -> None:
        """The array holds this now, whatever was before; a copy is kept if it is durable."""
        if not array.is_durable:
            return
        with self._lock:
            self._uploaded(array, None if values is None else values.copy())

    def downloaded(self, array: ArrayState, values: np.ndarray, uses: int | None) -> None:
        """The same, if nothing could write it meanwhile.

        Args:
            array: that these values are of.
            values: of before or after any use that came while they were copied.
            uses: of the array before the copy; None: a job that may write it had not ended.
        """
        if not array.is_durable or uses is None:
            return
        with self._lock:
            if array.uses == uses:
                self._uploaded(array, values.copy())

    def _uploaded(self, array: ArrayState, values: np.ndarray | None) -> None:
        array.spoiled = None
        array.uses += 1
        self._add(Upload(array, values))

    def can_replay(self, arrays: list[ArrayState], idempotent: bool) -> bool:
        """Can a job on these arrays be run again? If not, their contents are unknown afterwards."""
        if not idempotent and not any(each.is_durable for each in arrays):
            return False
        with self._lock:
            possible = idempotent and all(each.is_durable and each.spoiled is None for each in arrays)
            if not possible:
                for each in arrays:
                    each.spoiled = "a job that cannot be run again has used it"
            for each in arrays:
                each.uses += 1
            return possible

    def submitted(self, job: DaemonJob) -> None:
        """It is the next step."""
        with self._lock:
            self._add(job)

    def refused(self, job: DaemonJob) -> None:
        """It is none."""
        with self._lock:
            self._steps.remove(job)

    def _add(self, step: Upload | DaemonJob) -> None:
        self._steps.append(step)
        if len(self._steps) >= self._prune_at:
            self._prune()
            if len(self._steps) > MOST_STEPS:
                self._give_up()
            self._prune_at = max(64, 2 * len(self._steps))

    def _prune(self) -> None:
        kept: list[Upload | DaemonJob] = []
        needed = {
            each.array
            for each in self._steps
            if isinstance(each, Upload) and not each.array.is_freed and each.array.spoiled is None
        }
        for step in reversed(self._steps):
            if isinstance(step, Upload):
                if step.array in needed:
                    needed.discard(step.array)
                    kept.append(step)
            elif not step.has_ended or not needed.isdisjoint(step.submission.arrays):
                needed.update(step.submission.arrays)
                kept.append(step)
        self._steps = kept[::-1]

    def _give_up(self) -> None:
        """Too much has been done since the arrays were uploaded."""
        for step in self._steps:
            if not isinstance(step, Upload):
                step.is_replayable = False
                for array in step.submission.arrays:
                    array.spoiled = f"more than {MOST_STEPS} jobs since it was uploaded or downloaded"
        self._steps = [each for each in self._steps if isinstance(each, Upload) and each.array.spoiled is None]


LONGEST_S = 3600.0


def replay(log: ReplayLog, registered: Registered, patience_s: float) -> None:
    """Repeats uploads and jobs in their order. Jobs that had not ended are left running.

    The client may have waited for one job before it submitted another, so every job of another application, and every
    upload, waits for those before it.

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
    # a thread that was notified of a job's end may read its results
    _wait_for([each for each in before if each not in steps])
    for array in {each.array for each in steps if isinstance(each, Upload) and each.array.is_freed}:
        array.give_back()


def _wait_for(jobs: list[DaemonJob]) -> None:
    for job in jobs:
        try:
            job.result(LONGEST_S)
        except DaemonGoneError:
            raise
        except Exception as error:  # the error is reported to the waiting thread; here only the arrays matter
            _spoil(job, f"a job on it failed: {error}")


def _upload(step: Upload, registered: Registered, patience_s: float) -> None:
    array = step.array
    if not array.is_on(registered):
        array.allocate(registered, patience_s)
    values = np.zeros(array.shape, array.dtype) if step.values is None else step.values
    if values.size > 0:
        registered.write(array.handle_on(registered), values)


def _again(job: DaemonJob, registered: Registered) -> DaemonJob | None:
    """The job to run: the job itself, or a repetition of it where it has ended."""
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
