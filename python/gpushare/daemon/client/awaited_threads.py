# SPDX-License-Identifier: Apache-2.0
"""Threads that must end before the interpreter does, without delaying its end for long.

A thread that returns from the core to a finalized interpreter ends the process; such threads wait for jobs or release
the port of a closed link.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

PATIENCE_S = 1.0
PAUSE_S = 0.001
_threads: list[threading.Thread] = []
_lock = threading.Lock()


def start_thread(work: Callable[[], None], name: str) -> None:
    """Starts a thread; threads that have ended are forgotten at the next start."""
    thread = threading.Thread(target=work, name=name, daemon=True)
    with _lock:
        thread.start()
        _threads[:] = [*(each for each in _threads if each.is_alive()), thread]


def await_threads(are_others_out: Callable[[], bool]) -> None:
    """Waits for all threads, and until other threads have returned from the core, for a limited time."""
    end = time.monotonic() + PATIENCE_S
    with _lock:
        threads = [*_threads]
    for thread in threads:
        thread.join(max(end - time.monotonic(), 0))
    while not are_others_out() and time.monotonic() < end:
        time.sleep(PAUSE_S)


def _forget_after_fork() -> None:
    """The child process has none of the threads, and a parent's thread may have held the lock."""
    global _lock
    _lock = threading.Lock()
    _threads.clear()


os.register_at_fork(after_in_child=_forget_after_fork)
