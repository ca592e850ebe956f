# SPDX-License-Identifier: Apache-2.0
"""The worker's side of an application of a client."""

from __future__ import annotations

import threading
from typing import Any

from gpushare import _core
from gpushare.daemon.errors import RefusedError


class ServedApplication:
    """An application of the session, and its accounts.

    Args:
        application: the session's application.
        account: the port's account of its jobs.
        min_speed: its least speed; 0: none.
        priority: its present priority.
        weight: its weight.

    Attributes:
        program: as which it is scheduled, if it is a program.
    """

    def __init__(
        self,
        application: Any,
        account: _core.ApplicationAccount,
        min_speed: float,
        priority: int = 0,
        weight: float = 1.0,
    ) -> None:
        self.application = application
        self.min_speed = min_speed
        self.priority = priority
        self.weight = weight
        self.is_cancelled = False
        self.program: _core.ProgramPort | None = None
        self._account = account
        self._priority_from_operator: int | None = None
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """Its name in the session."""
        return self.application.name

    @property
    def totals(self) -> _core.ApplicationTotals:
        """Jobs and times so far."""
        return self._account.totals()

    def set_priority(self, session: Any, priority: int) -> None:
        """Changes the priority at its client's request.

        Raises:
            RefusedError: it is above the limit that an operator has set.
        """
        with self._lock:
            most = self._priority_from_operator
            if most is not None and priority > most:
                raise RefusedError(
                    f"application {self.name!r}: priority {priority} is above {most}, which an operator has set"
                )
            session.set_priority(self.application, priority)
            self.priority = priority

    def set_priority_as_operator(self, session: Any, priority: int) -> None:
        """Changes the priority; its client cannot exceed this value from now on."""
        with self._lock:
            session.set_priority(self.application, priority)
            self.priority = self._priority_from_operator = priority

    def does_not_end(self, why: str) -> None:
        """Reports that a block of it does not end, which fails the session."""
        self.application.does_not_end(why)

    def cancel(self) -> None:
        """Drops its jobs; the running one stops at the next block boundary."""
        self.is_cancelled = True
        self.application.cancel()
