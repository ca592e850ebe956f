# SPDX-License-Identifier: Apache-2.0
"""Looks at a worker's status: what its session does not remember by itself. Old ones are forgotten."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpushare.daemon.worker.worker import Worker

LOG = logging.getLogger("gpushare.daemon.worker.history")
MOST_LOOKS = 6_000
LOOKS_PER_SECOND = 10
"""A look costs the session a few microseconds; ten minutes of them are kept."""


@dataclass(frozen=True)
class Look:
    """What the status said at one moment.

    Attributes:
        time_ns: as ``time.monotonic_ns`` says.
        unfinished: jobs per application that has some.
        blocks_done: of the present launch per application, where the session tells.
    """

    time_ns: int
    policy: str
    used_bytes: int
    unfinished: dict[str, int]
    blocks_done: dict[str, int]


class History:
    """Filled by one thread of the worker, read by others."""

    def __init__(self) -> None:
        self._looks: deque[Look] = deque(maxlen=MOST_LOOKS)
        self._at_work: set[str] = set()

    def looked(self, look: Look) -> None:
        """At the status. That an application has nothing more to do is kept once."""
        ended = dict.fromkeys(self._at_work - look.unfinished.keys(), 0)
        self._at_work = set(look.unfinished)
        self._looks.append(replace(look, unfinished=look.unfinished | ended))

    def between(self, since_ns: int, until_ns: int) -> list[Look]:
        """Looks of this window."""
        return [each for each in list(self._looks) if since_ns <= each.time_ns <= until_ns]


def look_at(worker: Worker) -> Look:
    """Now. The applications that have nothing to do may be thousands."""
    present = (each for client in worker.clients for each in client.applications)
    unfinished = {each.name: jobs for each in present if (jobs := each.totals.unfinished)}
    status = worker.session.status()
    blocks_done = {each.name: each.done for each in status.applications if each.kernel and each.name in unfinished}
    return Look(time.monotonic_ns(), worker.policy, worker.accounts.used_bytes, unfinished, blocks_done)


def keep_looking(history: History, ask: Callable[[], Look]) -> None:
    """Starts a thread that looks ten times a second."""

    def look() -> None:
        while True:
            time.sleep(1 / LOOKS_PER_SECOND)
            try:
                history.looked(ask())
            except Exception:
                LOG.exception("the status cannot be had")
                time.sleep(1)

    threading.Thread(target=look, name="history", daemon=True).start()
