# SPDX-License-Identifier: Apache-2.0
"""Why a link to a worker was lost, and the resulting errors of its jobs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gpushare._core import DeviceError, JobStatus
from gpushare.daemon.errors import WorkerLostError, from_message
from gpushare.daemon.protocol.wire import Message


@dataclass(frozen=True)
class Loss:
    """The reason of a loss.

    Attributes:
        error: the error for later requests.
        failure: the error of the device or the policy that ended the worker; None: it could not be sent.
        culprit: the application that caused it, where the jobs' ends are not known; None: they are, or it is another
            client's.
    """

    error: Exception
    failure: Exception | None = None
    culprit: str | None = None

    @classmethod
    def told_by(cls, event: Message) -> Loss:
        """From the worker's last message."""
        return cls(from_message(event["error"]), from_message(event["failure"]), event.get("culprit"))

    def tell(self, job: Any, status: JobStatus | None, message: str) -> None:
        """Ends a job that had not ended, with the status and message of the worker, if any."""
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
