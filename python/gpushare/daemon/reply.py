# SPDX-License-Identifier: Apache-2.0
"""An answer that is still to come."""

from __future__ import annotations

import threading
from typing import Any

from gpushare.daemon.wire import close_all


class Reply:
    """Answered once, by the thread that reads."""

    def __init__(self) -> None:
        self._there = threading.Event()
        self._answer: Any = None
        self._error: Exception | None = None
        self.descriptors: list[int] = []

    def answer(self, answer: Any, error: Exception | None, descriptors: list[int]) -> None:
        """It has come, and with it descriptors that are whoever's who waits."""
        self._answer, self._error, self.descriptors = answer, error, descriptors
        self._there.set()

    def result(self, timeout_s: float | None = None) -> Any:
        """Waits for it.

        Raises:
            TimeoutError: it has not come in that time.
            InvalidInput: or whatever else it is.
        """
        if not self._there.wait(timeout_s):
            raise TimeoutError(f"the server has not answered for {timeout_s:g} s")
        if self._error is not None:
            close_all(self.descriptors)
            raise self._error
        return self._answer
