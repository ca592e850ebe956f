# SPDX-License-Identifier: Apache-2.0
"""Why a link to a worker can be used no more, and what that means for the jobs that it had."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gpushare._core import DeviceError, JobStatus
from gpushare.daemon.errors import WorkerLostError, from_message
from gpushare.daemon.wire import Message


@dataclass(frozen=True)
class Loss:
    """What there is to say of it.

    Attributes:
        error: for whoever still wants something.
        failure: of the device or the policy, which ended the worker; None: it could not say so any more.
    """

    error: Exception
    failure: Exception | None = None

    @classmethod
    def told_by(cls, event: Message) -> Loss:
        """As the worker says it before it ends."""
        return cls(from_message(event["error"]), from_message(event["failure"]))

    def tell(self, job: Any, status: JobStatus | None, message: str) -> None:
        """A job that had not ended by then, with what the worker said of it; None: nothing."""
        if status == JobStatus.CULPRIT:
            job.end(self.failure or DeviceError(message))
        elif status == JobStatus.SUSPECT:
            job.suspect(self.failure or DeviceError(message), self.error)
        elif status is None or self.failure is None:
            job.end(self.error)
        else:
            job.end(WorkerLostError(message))
