# SPDX-License-Identifier: Apache-2.0
"""A thread pool for simulated runs, which ends all of them when the waiting thread is interrupted."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from gpushare.backends.simulator.interrupts import Interrupts
from gpushare.backends.simulator.simulation import end_runs_of_this_thread_by


@contextmanager
def simulation_pool() -> Iterator[ThreadPoolExecutor]:
    """One thread per processor core; the core module releases the GIL. Leaving the block early ends its runs."""
    interrupts = Interrupts()
    heed = (interrupts,)
    with ThreadPoolExecutor(os.cpu_count(), initializer=end_runs_of_this_thread_by, initargs=heed) as pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)  # after an interrupt the runs must not continue
            interrupts.end_all()
            raise
