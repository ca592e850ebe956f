# SPDX-License-Identifier: Apache-2.0
"""Limits work to a share of the time, independent of the number of requests."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class LimitedShare:
    """Of one user. Turns are taken one at a time, and what one took of the processor says when the next one may."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._not_before_s = 0.0

    @contextmanager
    def turn(self, most_share: float, is_over: threading.Event) -> Iterator[None]:
        """Waits until the next request may start, or ``is_over`` is set."""
        with self._lock:
            is_over.wait(max(self._not_before_s - time.monotonic(), 0))
            began_s = time.thread_time()
            try:
                yield
            finally:
                spent_s = time.thread_time() - began_s
                self._not_before_s = time.monotonic() + spent_s * (1 / most_share - 1)
