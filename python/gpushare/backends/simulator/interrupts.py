# SPDX-License-Identifier: Apache-2.0
"""Ends simulated runs on other threads, because Python delivers Ctrl-C to the main thread only."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Interrupts:
    """Ends runs with KeyboardInterrupt: the core looks at ``ended()``, and a policy in Python gets the exception."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._threads: set[int] = set()
        self._ended = False

    def ended(self) -> bool:
        """Whether runs have to end."""
        return self._ended

    def end_all(self) -> None:
        """Ends the runs of all threads, even if a policy never returns, unless it sleeps in a system call."""
        with self._lock:
            self._ended = True
            for thread in self._threads:
                _raise_in(thread, KeyboardInterrupt)

    @contextmanager
    def around_policy(self) -> Iterator[None]:
        """What this thread does within the block is interrupted by :meth:`end_all`."""
        thread = threading.get_ident()
        with self._lock:
            if self._ended:
                raise KeyboardInterrupt
            self._threads.add(thread)
        try:
            yield
        finally:
            with self._lock:
                self._threads.discard(thread)
                _raise_in(thread, None)  # the thread's next task must not get it


def _raise_in(thread: int, error: type[BaseException] | None) -> None:
    """Raises the error in another thread when that next executes Python code; None takes it back."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), error and ctypes.py_object(error))
