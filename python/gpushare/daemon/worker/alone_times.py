# SPDX-License-Identifier: Apache-2.0
"""How long launches take with nobody else there, by their profiles: what turnarounds are normalized by."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from gpushare import _core
from gpushare._core import InvalidInput
from gpushare.arguments.launch_geometry import Extent
from gpushare.backends.cuda.loaded_code import LoadedCode
from gpushare.daemon.worker.served_session import ServedSession


class AloneTimes:
    """Predictions, made once per kernel and shape of its blocks, and kept as long as the kernel.

    Args:
        session: of all clients.
    """

    def __init__(self, session: ServedSession) -> None:
        self._session = session
        self._known: WeakKeyDictionary[Any, dict[Any, tuple[float, float] | None]] = WeakKeyDictionary()

    def of(
        self, kernel: Any, block: Extent, shared_bytes: int, code: LoadedCode | None = None
    ) -> tuple[float, float] | None:
        """Nanoseconds per block with the whole GPU at work, and of the first; None for a kernel that has no profile.

        Args:
            kernel: with its variables in ``code``, if it has any.
            block: of a launch.
            shared_bytes: dynamic ones of a block.
            code: with the copy of the kernel that is looked at, on a GPU.
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
            return None  # a simulated device says so of a kernel without a profile, a GPU by is_profiled
        if not model.is_profiled:
            return None
        return 1 / _core.rate_alone(self._session.device.description, model), model.latency_ns
