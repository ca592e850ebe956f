# SPDX-License-Identifier: Apache-2.0
"""Places that are taken for a moment, of which no user has all."""

from __future__ import annotations

import threading
from collections import Counter


class PlacesByUser:
    """Places, each taken by a user's number.

    Args:
        places: how many there are.
        of_a_user: how many one user has at most.
    """

    def __init__(self, places: int, of_a_user: int) -> None:
        self._places = places
        self._of_a_user = of_a_user
        self._taken: Counter[int] = Counter()
        self._lock = threading.Lock()

    def take(self, user: int) -> bool:
        """Whether there was one."""
        with self._lock:
            if self._taken.total() >= self._places or self._taken[user] >= self._of_a_user:
                return False
            self._taken[user] += 1
            return True

    def give_back(self, user: int) -> None:
        """One that was taken."""
        with self._lock:
            self._taken[user] -= 1
            if self._taken[user] == 0:
                del self._taken[user]
