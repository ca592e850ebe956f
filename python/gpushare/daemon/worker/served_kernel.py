# SPDX-License-Identifier: Apache-2.0
"""A client's kernel, as the worker keeps it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from gpushare.model.launch_geometry import Extent


class ServedKernel:
    """It is unloaded once the client has given it up and no launch uses it any more, and counts until then.

    Args:
        kernel: a :class:`gpushare.Kernel`, or a model of one.
        on_unloaded: called once that is so.

    Attributes:
        kernel: likewise.
        module: tells its variables from those of others; None where it has none, or has not been loaded.
        code: as it is loaded on a GPU. With variables, the client's other code keeps it.
        launches: what the client was told of launches with this block and dynamic shared memory.
    """

    def __init__(self, kernel: Any, on_unloaded: Callable[[], None]) -> None:
        self.kernel = kernel
        self.module: str | None = None
        self.code: Any = None
        self.launches: dict[tuple[Extent, int], dict[str, Any]] = {}
        self._on_unloaded = on_unloaded
        self._of_client = object()
        self._uses = {self._of_client}
        self._lock = threading.Lock()

    def use(self) -> Callable[[], None]:
        """Keeps it loaded until what is returned is called."""
        use = object()
        with self._lock:
            self._uses.add(use)
        return partial(self._end, use)

    def give_up(self) -> None:
        """The client does not need it any more."""
        self._end(self._of_client)

    def _end(self, use: object) -> None:
        with self._lock:
            if use not in self._uses:
                return
            self._uses.remove(use)
            if self._uses:
                return
        self.code = None
        self._on_unloaded()
