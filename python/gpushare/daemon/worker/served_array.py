# SPDX-License-Identifier: Apache-2.0
"""The worker's side of a client's array."""

from __future__ import annotations

import threading
from collections.abc import Callable

from gpushare._core import InvalidInput
from gpushare.arguments.device_array import DeviceArray


class ServedArray:
    """An array. Its memory is freed when the client has released it and no job uses it.

    Args:
        array: the array on the device.
        on_freed: called once, when the memory has been freed.
    """

    def __init__(self, array: DeviceArray, on_freed: Callable[[], None]) -> None:
        self.array = array
        self._on_freed = on_freed
        self._users = 0
        self._given_up = False
        self._lock = threading.Lock()

    def use(self) -> DeviceArray:
        """Marks it as used by a job or a copy, until :meth:`used`."""
        with self._lock:
            if self._given_up:
                raise InvalidInput("this array has been freed: make another")
            self._users += 1
        return self.array

    def used(self) -> None:
        """Marks the end of a job or a copy."""
        self._change(users=-1)

    def give_up(self) -> None:
        """Marks it as released by the client."""
        self._change(given_up=True)

    def _change(self, users: int = 0, given_up: bool = False) -> None:
        with self._lock:
            was_over = self._is_over
            self._users += users
            self._given_up |= given_up
            is_over = self._is_over
        if is_over and not was_over:
            self.array.free()
            self._on_freed()

    @property
    def _is_over(self) -> bool:
        return self._given_up and self._users == 0
