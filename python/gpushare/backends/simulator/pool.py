# SPDX-License-Identifier: Apache-2.0
"""Threads for many simulated runs at once, all of which end when whoever waits for them is interrupted."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from gpushare.backends.simulator.simulation import end_runs_of_this_thread_when


@contextmanager
def simulation_pool() -> Iterator[ThreadPoolExecutor]:
    """A thread per core: the core releases the GIL. What ends the block early ends its runs, too."""
    interrupted = threading.Event()
    heed = (interrupted.is_set,)
    with ThreadPoolExecutor(os.cpu_count(), initializer=end_runs_of_this_thread_when, initargs=heed) as pool:
        try:
            yield pool
        except BaseException:
            interrupted.set()  # what is interrupted must not run to its end
            pool.shutdown(wait=False, cancel_futures=True)
            raise
