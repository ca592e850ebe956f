# SPDX-License-Identifier: Apache-2.0
"""Why a link to a worker can be used no more, and what that means for the jobs that it had."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gpushare.daemon.errors import from_message
from gpushare.daemon.wire import Message


@dataclass(frozen=True)
class Loss:
    """What there is to say of it.

    Attributes:
        error: for whoever still wants something.
        failure: what a job did that is to blame; None: no job is.
        suspects: the applications that it may have been.
        is_certain: it was one of a single suspect.
    """

    error: Exception
    failure: Exception | None = None
    suspects: frozenset[int] = frozenset()
    is_certain: bool = True

    @classmethod
    def told_by(cls, event: Message) -> Loss:
        """As the worker says it before it ends."""
        return cls(
            from_message(event["error"]),
            from_message(event["failure"]),
            frozenset(event["applications"]),
            event.get("certain", True),
        )

    def tell(self, job: Any) -> None:
        """A job that had not ended by then."""
        if self.failure is None or job.application_handle not in self.suspects:
            job.end(self.error)
        elif self.is_certain:
            job.end(self.failure)
        else:
            job.suspect(self.failure, self.error)
