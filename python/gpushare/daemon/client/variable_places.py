# SPDX-License-Identifier: Apache-2.0
"""On which worker a session has used the variables of its kernels, since with another one they begin anew."""

from __future__ import annotations

import threading

from gpushare.daemon.errors import WorkerLostError


class VariablePlaces:
    """By module. Threads may use it."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}
        self._lock = threading.Lock()

    def require_there(self, module: str, place: int, kernel: str) -> None:
        """To be called before a launch.

        Raises:
            WorkerLostError: they were used on another worker. That is said once: launches after it find what there is.
        """
        with self._lock:
            before = self._places.setdefault(module, place)
            self._places[module] = place
        if before != place:
            raise WorkerLostError(
                f"the variables of the source of kernel {kernel!r} were lost with their worker, and are what they are "
                "to begin with: set them again with session.variable(...) if that matters, and submit again"
            )

    def used(self, module: str, place: int) -> None:
        """The session looks at them there, or sets them."""
        with self._lock:
            self._places[module] = place
