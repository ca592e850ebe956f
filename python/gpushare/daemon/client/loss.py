# SPDX-License-Identifier: Apache-2.0
"""Why a link to a worker can be used no more, and what that means for the jobs that it had."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gpushare._core import DeviceError, JobStatus
from gpushare.daemon.errors import WorkerLostError, from_message
from gpushare.daemon.protocol.wire import Message


@dataclass(frozen=True)
class Loss:
    """What there is to say of it.

    Attributes:
        error: for whoever still wants something.
        failure: of the device or the policy, which ended the worker; None: it could not say so any more.
        culprit: the application to blame, where its jobs could not be told; None: they were, or it is another's.
    """

    error: Exception
    failure: Exception | None = None
    culprit: str | None = None

    @classmethod
    def told_by(cls, event: Message) -> Loss:
        """As the worker says it before it ends."""
        return cls(from_message(event["error"]), from_message(event["failure"]), event.get("culprit"))

    def tell(self, job: Any, status: JobStatus | None, message: str) -> None:
        """A job that had not ended by then, with what the worker said of it; None, or no message: nothing."""
        if status is None and self.culprit is not None and job.application.name == self.culprit:
            status = JobStatus.CULPRIT
        if status == JobStatus.CULPRIT:
            job.end(self.failure or DeviceError(message))
        elif status == JobStatus.SUSPECT:
            job.suspect(self.failure or DeviceError(message), self.error)
        elif status is None or self.failure is None or not message:
            job.end(self.error)
        else:
            job.end(WorkerLostError(message))
