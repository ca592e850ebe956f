# SPDX-License-Identifier: Apache-2.0
"""Work on which no more than a share of the time is spent, however often somebody wants it."""

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
        """Waits until there is time for it, or there is no use in it any more."""
        with self._lock:
            is_over.wait(max(self._not_before_s - time.monotonic(), 0))
            began_s = time.thread_time()
            try:
                yield
            finally:
                spent_s = time.thread_time() - began_s
                self._not_before_s = time.monotonic() + spent_s * (1 / most_share - 1)
