# SPDX-License-Identifier: Apache-2.0
"""The links of this process and their threads: how they end when it forks, and when the interpreter ends.

A thread that returns from the core into an interpreter that has ended crashes the process: after waiting for jobs, and
after releasing the port of a closed link. So such threads have to end earlier, without delaying the interpreter's end.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpushare.daemon.client.link import Link

_open: weakref.WeakSet[Link] = weakref.WeakSet()


def keep(link: Link) -> None:
    """Registers a link, without a strong reference."""
    _open.add(link)


def _forget_all_after_fork() -> None:
    for link in list(_open):
        link.forget_after_fork()


def _close_all() -> None:
    links = list(_open)
    for link in links:
        link.close()
    await_threads(lambda: not any(link.is_awaited for link in links))


atexit.register(_close_all)
os.register_at_fork(after_in_child=_forget_all_after_fork)


PATIENCE_S = 1.0
PAUSE_S = 0.001
_threads: list[threading.Thread] = []
_lock = threading.Lock()


def start_thread(work: Callable[[], None], name: str) -> None:
    """Those that have ended are forgotten when the next one starts."""
    thread = threading.Thread(target=work, name=name, daemon=True)
    with _lock:
        thread.start()
        _threads[:] = [*(each for each in _threads if each.is_alive()), thread]


def await_threads(are_others_out: Callable[[], bool]) -> None:
    """Until all have ended, and threads of others have come back from the core, but not for long."""
    end = time.monotonic() + PATIENCE_S
    with _lock:
        threads = [*_threads]
    for thread in threads:
        thread.join(max(end - time.monotonic(), 0))
    while not are_others_out() and time.monotonic() < end:
        time.sleep(PAUSE_S)


def _forget_after_fork() -> None:
    """The child has none of them, and the lock may be one that a thread of the parent had."""
    global _lock
    _lock = threading.Lock()
    _threads.clear()


os.register_at_fork(after_in_child=_forget_after_fork)
