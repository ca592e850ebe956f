# SPDX-License-Identifier: Apache-2.0
"""A client's application, as the worker keeps it."""

from __future__ import annotations

from typing import Any

from gpushare import _core


class ServedApplication:
    """An application of the session, and how it fares.

    Args:
        application: the session's.
        account: where the port counts its jobs.
    """

    def __init__(self, application: Any, account: _core.ApplicationAccount) -> None:
        self.application = application
        self.is_cancelled = False
        self._account = account

    @property
    def name(self) -> str:
        """As the session knows it."""
        return self.application.name

    @property
    def totals(self) -> _core.ApplicationTotals:
        """Jobs and times so far."""
        return self._account.totals()

    def cancel(self) -> None:
        """Drops its jobs; the running one stops at the next block boundary."""
        self.is_cancelled = True
        self.application.cancel()
