# SPDX-License-Identifier: Apache-2.0
"""Answers that have not arrived yet."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from gpushare.daemon.protocol.wire import close_all


class Reply:
    """An answer, which the reading thread sets once.

    Args:
        undo: called with an answer after the wait for it was abandoned, for example by Ctrl-C.
    """

    def __init__(self, undo: Callable[[Any], None] = lambda _: None) -> None:
        self._there = threading.Event()
        self._undo = undo
        self._is_abandoned = False
        self._lock = threading.Lock()
        self._answer: Any = None
        self._error: Exception | None = None
        self.descriptors: list[int] = []

    def answer(self, answer: Any, error: Exception | None, descriptors: list[int]) -> None:
        """Sets the answer, with the descriptors that came with it, which the waiting thread owns."""
        with self._lock:
            self._answer, self._error, self.descriptors = answer, error, descriptors
            self._there.set()
            is_abandoned = self._is_abandoned
        if is_abandoned:
            self._drop()

    def _abandon(self) -> None:
        with self._lock:
            self._is_abandoned = True
            is_there = self._there.is_set()
        if is_there:
            self._drop()

    def _drop(self) -> None:
        close_all(self.descriptors)
        if self._error is None:
            self._undo(self._answer)

    def result(self, timeout_s: float | None = None) -> Any:
        """Waits for the answer.

        Raises:
            TimeoutError: it has not arrived in this time.
            InvalidInput: the request is not valid; or another error that the worker sends.
        """
        try:
            is_there = self._there.wait(timeout_s)
        except BaseException:
            self._abandon()
            raise
        if not is_there:
            raise TimeoutError(f"the server has not answered for {timeout_s:g} s")
        if self._error is not None:
            close_all(self.descriptors)
            raise self._error
        return self._answer
