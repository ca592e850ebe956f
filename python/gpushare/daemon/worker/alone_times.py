# SPDX-License-Identifier: Apache-2.0
"""Runtimes of launches alone, from kernel profiles, by which turnarounds are normalized."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from gpushare import _core
from gpushare._core import InvalidInput
from gpushare.arguments.launch_geometry import Extent
from gpushare.backends.cuda.loaded_code import LoadedCode
from gpushare.daemon.worker.served_session import ServedSession


class AloneTimes:
    """Predictions, made once per kernel and block shape, and cached as long as the kernel.

    Args:
        session: of all clients.
    """

    def __init__(self, session: ServedSession) -> None:
        self._session = session
        self._known: WeakKeyDictionary[Any, dict[Any, tuple[float, float] | None]] = WeakKeyDictionary()

    def of(
        self, kernel: Any, block: Extent, shared_bytes: int, code: LoadedCode | None = None
    ) -> tuple[float, float] | None:
        """Nanoseconds per block on the whole GPU, and of the first block; None without a profile.

        Args:
            kernel: the kernel; its variables, if any, are in ``code``.
            block: block of a launch.
            shared_bytes: dynamic shared memory of a block.
            code: loaded code of the kernel, on a GPU.
        """
        known = self._known.setdefault(kernel, {})
        key = (block, shared_bytes)
        if key not in known:
            known[key] = self._predicted(kernel, block, shared_bytes, code)
        return known[key]

    def _predicted(
        self, kernel: Any, block: Extent, shared_bytes: int, code: LoadedCode | None
    ) -> tuple[float, float] | None:
        try:
            model = self._session.kernels.model(kernel, block, shared_bytes, code)
        except InvalidInput:
            return None  # a simulated device raises without a profile; for a GPU, is_profiled tells
        if not model.is_profiled:
            return None
        return 1 / _core.rate_alone(self._session.device.description, model), model.latency_ns
