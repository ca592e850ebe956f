# SPDX-License-Identifier: Apache-2.0
"""Looks at a worker's status: what its session does not remember by itself. Old ones are forgotten."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

LOG = logging.getLogger("gpushare.daemon.history")
MOST_LOOKS = 6_000
LOOKS_PER_SECOND = 10
"""A look costs the session a few microseconds; ten minutes of them are kept."""


@dataclass(frozen=True)
class Look:
    """What the status said at one moment.

    Attributes:
        time_ns: as ``time.monotonic_ns`` says.
        unfinished: jobs per application.
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

    def looked(self, look: Look) -> None:
        """At the status."""
        self._looks.append(look)

    def between(self, since_ns: int, until_ns: int) -> list[Look]:
        """Looks of this window."""
        return [each for each in list(self._looks) if since_ns <= each.time_ns <= until_ns]


def look_at(status: dict[str, Any], now_ns: int) -> Look:
    """The part of a status that is kept."""
    applications = status["applications"]
    return Look(
        now_ns,
        status["policy"],
        status["memory"]["used_bytes"],
        {each["name"]: each["unfinished_jobs"] for each in applications},
        {each["name"]: each["done"] for each in applications if each.get("kernel")},
    )


def keep_looking(history: History, ask: Callable[[], dict[str, Any]]) -> None:
    """Starts a thread that looks ten times a second."""

    def look() -> None:
        while True:
            time.sleep(1 / LOOKS_PER_SECOND)
            try:
                history.looked(look_at(ask(), time.monotonic_ns()))
            except Exception:
                LOG.exception("the status cannot be had")
                time.sleep(1)

    threading.Thread(target=look, name="history", daemon=True).start()
