# SPDX-License-Identifier: Apache-2.0
"""The queue of compilations, which is fair among users, and among the clients of a user."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

LOOK_S = 0.25
"""Interval at which a waiting request checks that its client is still connected, in seconds."""


@dataclass(frozen=True, eq=False)
class Turn:
    """A waiting or running compilation of a client."""

    user: str
    client: int


class CompileQueue:
    """A limited number of places for concurrent compilations.

    A user has all but one of them at most, so that another user need not wait; a single place is held for one
    compilation at a time.

    Args:
        places: number of places.
    """

    def __init__(self, places: int) -> None:
        self._places = places
        self._most_of_user = max(places - 1, 1)
        self._waiting: list[Turn] = []
        self._under_way: list[Turn] = []
        self._last: dict[object, int] = {}
        self._turns = 0
        self._changed = threading.Condition()

    @contextmanager
    def place(self, user: str, client: int, is_gone: Callable[[], bool]) -> Iterator[None]:
        """Waits for a place and holds it.

        Raises:
            EOFError: the client has gone.
        """
        mine = Turn(user, client)
        self._take(mine, is_gone)
        try:
            yield
        finally:
            with self._changed:
                self._under_way.remove(mine)
                self._forget_absent()
                self._changed.notify_all()

    def _take(self, mine: Turn, is_gone: Callable[[], bool]) -> None:
        with self._changed:
            self._waiting.append(mine)
            try:
                while self._next() is not mine:
                    if is_gone():
                        raise EOFError("the client is gone")
                    self._changed.wait(LOOK_S)
                self._under_way.append(mine)
                self._turns += 1
                self._last[mine.user] = self._last[mine.user, mine.client] = self._turns
            finally:
                self._waiting.remove(mine)
                self._changed.notify_all()

    def _next(self) -> Turn | None:
        if len(self._under_way) >= self._places:
            return None
        permitted = [each for each in self._waiting if self._places_of(each.user) < self._most_of_user]
        return min(permitted, key=self._rank, default=None)

    def _rank(self, turn: Turn) -> tuple[int, int, int]:
        """Sort key: fewest places of the user, then least recent compilation, then order of arrival."""
        return self._places_of(turn.user), self._last.get(turn.user, 0), self._last.get((turn.user, turn.client), 0)

    def _places_of(self, user: str) -> int:
        return sum(each.user == user for each in self._under_way)

    def _forget_absent(self) -> None:
        present = {key for each in self._waiting + self._under_way for key in (each.user, (each.user, each.client))}
        self._last = {key: turn for key, turn in self._last.items() if key in present}
