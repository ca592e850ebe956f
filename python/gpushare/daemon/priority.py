# SPDX-License-Identifier: Apache-2.0
"""Threads that use the processor only where no other thread wants it."""

from __future__ import annotations

import contextlib
import os
import threading

NICENESS = 10


def yield_processor() -> None:
    """Lowers the priority of the calling thread; Linux has one for each."""
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
