# SPDX-License-Identifier: Apache-2.0
"""A limited number of places, of which each user can have a part."""

from __future__ import annotations

import threading
from collections import Counter


class PlacesByUser:
    """Places, counted per user, by number or name.

    Args:
        places: number of places.
        of_a_user: limit per user.
    """

    def __init__(self, places: int, of_a_user: int) -> None:
        self._places = places
        self._of_a_user = of_a_user
        self._taken: Counter[int | str] = Counter()
        self._lock = threading.Lock()

    def take(self, user: int | str) -> bool:
        """Takes a place; returns whether there was one."""
        with self._lock:
            if self._taken.total() >= self._places or self._taken[user] >= self._of_a_user:
                return False
            self._taken[user] += 1
            return True

    def give_back(self, user: int | str) -> None:
        """Returns a place."""
        with self._lock:
            self._taken[user] -= 1
            if self._taken[user] == 0:
                del self._taken[user]
