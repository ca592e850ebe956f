# SPDX-License-Identifier: Apache-2.0
"""A thread pool for simulated runs, which ends all of them when the waiting thread is interrupted."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from gpushare.backends.simulator.simulation import end_runs_of_this_thread_when


@contextmanager
def simulation_pool() -> Iterator[ThreadPoolExecutor]:
    """One thread per processor core; the core module releases the GIL. Leaving the block early ends its runs."""
    interrupted = threading.Event()
    heed = (interrupted.is_set,)
    with ThreadPoolExecutor(os.cpu_count(), initializer=end_runs_of_this_thread_when, initargs=heed) as pool:
        try:
            yield pool
        except BaseException:
            interrupted.set()  # after an interrupt the runs must not continue
            pool.shutdown(wait=False, cancel_futures=True)
            raise
