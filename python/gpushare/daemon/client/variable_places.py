# SPDX-License-Identifier: Apache-2.0
"""The worker on which a session last used its kernels' variables: on another worker they have initial values."""

from __future__ import annotations

import threading

from gpushare.daemon.errors import WorkerLostError


class VariablePlaces:
    """The places by module. It is thread-safe."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}
        self._lock = threading.Lock()

    def require_there(self, module: str, place: int, kernel: str) -> None:
        """Checks, before a launch, that the variables are on this worker.

        Raises:
            WorkerLostError: they were used on another worker. It is raised once: later launches use the initial values.
        """
        with self._lock:
            before = self._places.setdefault(module, place)
            self._places[module] = place
        if before != place:
            raise WorkerLostError(
                f"the variables of the source of kernel {kernel!r} were lost with their worker, and have their initial "
                "values: set them again with session.variable(...) if that matters, and submit again"
            )

    def used(self, module: str, place: int) -> None:
        """Records that the session reads or sets them on this worker."""
        with self._lock:
            self._places[module] = place
