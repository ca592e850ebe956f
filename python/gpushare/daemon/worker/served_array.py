# SPDX-License-Identifier: Apache-2.0
"""A client's array in device memory, as the worker keeps it."""

from __future__ import annotations

import threading
from collections.abc import Callable

from gpushare._core import InvalidInput
from gpushare.arguments.device_array import DeviceArray


class ServedArray:
    """Its memory goes back when the client has given it up and no job uses it any more, whichever comes last.

    Args:
        array: what it is on the device.
        on_freed: called once, when the memory has gone back.
    """

    def __init__(self, array: DeviceArray, on_freed: Callable[[], None]) -> None:
        self.array = array
        self._on_freed = on_freed
        self._users = 0
        self._given_up = False
        self._lock = threading.Lock()

    def use(self) -> DeviceArray:
        """For a job or a copy, until :meth:`used`."""
        with self._lock:
            if self._given_up:
                raise InvalidInput("this array has been freed: make another")
            self._users += 1
        return self.array

    def used(self) -> None:
        """A job or a copy has ended."""
        self._change(users=-1)

    def give_up(self) -> None:
        """The client does not need it any more."""
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
