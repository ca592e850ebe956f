# SPDX-License-Identifier: Apache-2.0
"""What a client has to do again to have its durable arrays and idempotent jobs back after the loss of a worker.

It keeps what was done in order, uploads and jobs: done again in that order from the beginning, everything is as it was.
What nobody needs any more is left out: uploads that later ones replaced, and jobs whose arrays are all gone.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpushare.daemon.client.array import ArrayState

if TYPE_CHECKING:
    from gpushare.daemon.client.job import DaemonJob

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
        """Can a job on these arrays be run again? If not, nobody can say afterwards what they held."""
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
