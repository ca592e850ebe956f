# SPDX-License-Identifier: Apache-2.0
"""Detects blocks that do not end: they cannot be preempted, so the GPU would be lost to all clients."""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Any

from gpushare._core import DeviceError, PolicyError
from gpushare.daemon.worker.status import status_of

if TYPE_CHECKING:
    from gpushare.daemon.worker.worker import Worker

LOG = logging.getLogger("gpushare.daemon.worker.watchdog")
ON_DEVICE = ("running", "leaving")
TIME_TO_BLAME_S = 5.0
"""Time for other launches to stop at a block boundary, in seconds."""
LOOKS = 10
"""Checks within the longest time of a block."""


class Watchdog:
    """Checks the progress of every application that has blocks on the device.

    An application that waits for room makes no progress either, so only those with resident blocks are checked.
    """

    def __init__(self, patience_s: float) -> None:
        self._patience_s = patience_s
        self._seen: dict[str, tuple[Any, float]] = {}

    def look(self, applications: list[dict[str, Any]], now_s: float) -> str | None:
        """The application with resident blocks that has made no progress for too long."""
        running = {each["name"]: _progress(each) for each in applications if each.get("state") in ON_DEVICE}
        self._seen = {name: seen for name, seen in self._seen.items() if name in running}
        for name, progress in running.items():
            before, since = self._seen.get(name, (None, now_s))
            if progress != before:
                self._seen[name] = (progress, now_s)
            elif now_s - since > self._patience_s:
                return name
        return None


def _progress(application: dict[str, Any]) -> Any:
    return application.get("ended_jobs"), application.get("done")


def watch(worker: Worker) -> None:
    """Starts a thread that ends the worker if a block does not end."""
    threading.Thread(target=_watch, args=[worker], name="watchdog", daemon=True).start()


def _watch(worker: Worker) -> None:
    patience_s = worker.settings.watchdog_seconds
    watchdog = Watchdog(patience_s)
    while True:
        time.sleep(patience_s / LOOKS)
        try:
            name = watchdog.look(status_of(worker)["applications"], time.monotonic())
        except Exception:
            LOG.exception("the watchdog cannot read the status")
            continue
        if name is not None:
            _end(worker, name, f"no block of it has ended for {patience_s:g} s")


def _end(worker: Worker, name: str, why: str) -> None:
    """Fails the application's jobs through the session, which knows them, if that is still possible."""
    for application in (each for client in worker.clients for each in client.applications if each.name == name):
        application.does_not_end(why)
    try:
        worker.session.raise_failure(TIME_TO_BLAME_S)
    except (DeviceError, PolicyError) as failure:
        worker.fail(failure)
    worker.fail(DeviceError(f"a job of '{name}' does not end: {why}"), culprit=name)
