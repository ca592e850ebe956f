# SPDX-License-Identifier: Apache-2.0
"""Accounts of the device's memory: holders and waiting requests (EffiSha section 6.4)."""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import takewhile

from gpushare._core import InvalidInput


@dataclass(frozen=True, eq=False)
class Ticket:
    """A waiting request."""

    client: int
    bytes: int


class MemoryAccounts:
    """Memory is granted in the order of requests: later requests wait behind earlier ones, so that none starves.

    Exempt are requests that could not be granted even if all other clients freed their memory, because their own client
    holds too much.

    Args:
        total_bytes: bytes that can be allocated.
        bytes_per_user: limit of the clients of one user together; None: no limit.
    """

    def __init__(self, total_bytes: int, bytes_per_user: int | None = None) -> None:
        self.total_bytes = total_bytes
        self._bytes_per_user = bytes_per_user
        self._users: dict[int, str] = {}
        self._held: Counter[int] = Counter()
        self._waiting: deque[Ticket] = deque()
        self._changed = threading.Condition()

    def admit(self, client: int, user: str) -> None:
        """Registers a client of this user."""
        with self._changed:
            self._users[client] = user

    def forget(self, client: int) -> None:
        """Removes a client that has left; its memory has been or will be freed."""
        with self._changed:
            self._users.pop(client, None)

    def held_by(self, client: int) -> int:
        """Bytes of this client."""
        with self._changed:
            return self._held[client]

    @property
    def used_bytes(self) -> int:
        """Bytes of all clients."""
        with self._changed:
            return self._held.total()

    @property
    def waiting(self) -> int:
        """Number of waiting requests."""
        with self._changed:
            return len(self._waiting)

    def take(self, client: int, amount: int, quota: int | None) -> Ticket | None:
        """Takes memory if that needs no waiting and no overtaking; else returns a waiting request.

        Raises:
            InvalidInput: it is more than the device has, or the client would exceed its quota.
        """
        with self._changed:
            self._require_possible(client, amount, quota)
            ticket = Ticket(client, amount)
            if amount > 0 and not self._has_room(ticket):
                self._waiting.append(ticket)
                return ticket
            self._held[client] += amount
            self._changed.notify_all()  # a client that waits for its own memory no longer blocks others
            return None

    def leave(self, ticket: Ticket) -> None:
        """Removes the request."""
        with self._changed:
            self._waiting.remove(ticket)
            self._changed.notify_all()

    def wait_for(self, ticket: Ticket, patience_s: float, is_gone: Callable[[], bool]) -> None:
        """Waits for the memory and takes it.

        Raises:
            TimeoutError: there was not enough in that time; the message names the holders.
            EOFError: the client has gone.
        """
        deadline = time.monotonic() + patience_s
        with self._changed:
            try:
                while not self._has_room(ticket):
                    left = deadline - time.monotonic()
                    if is_gone():
                        raise EOFError("the client has gone")
                    if left <= 0:
                        raise TimeoutError(self._too_long(ticket, patience_s))
                    self._changed.wait(left)
                self._held[ticket.client] += ticket.bytes
            finally:
                self.leave(ticket)

    def give_back(self, client: int, amount: int) -> None:
        """Frees memory and wakes waiting requests."""
        with self._changed:
            self._held[client] -= amount
            if self._held[client] == 0:
                del self._held[client]
            self._changed.notify_all()

    def wake(self) -> None:
        """Wakes all waiting requests, so that they check their clients."""
        with self._changed:
            self._changed.notify_all()

    def _has_room(self, ticket: Ticket) -> bool:
        return self._held.total() + ticket.bytes <= self.total_bytes and not self._ahead_of(ticket)

    def _ahead_of(self, ticket: Ticket) -> list[Ticket]:
        """The requests that are granted before this one, without those that only their own clients can satisfy."""
        before = takewhile(lambda each: each is not ticket, self._waiting)
        return [each for each in before if self._held[each.client] + each.bytes <= self.total_bytes]

    def _require_possible(self, client: int, amount: int, quota: int | None) -> None:
        if amount > self.total_bytes:
            raise InvalidInput(f"an array of {amount} bytes; the device has {self.total_bytes} to give out")
        waiting = sum(each.bytes for each in self._waiting if each.client == client)
        if quota is not None and self._held[client] + waiting + amount > quota:
            own = f"holds {self._held[client]}" + (f" and waits for {waiting}" if waiting else "")
            raise InvalidInput(
                f"an array of {amount} bytes: this client may hold {quota} bytes and {own}; free some, or have the "
                "server's memory_bytes_per_client raised"
            )

        self._require_within_users_part(client, amount)

    def _require_within_users_part(self, client: int, amount: int) -> None:
        user, most = self._users.get(client), self._bytes_per_user
        if user is None or most is None:
            return
        own = [each for each, its_user in self._users.items() if its_user == user]
        held = sum(self._held[each] for each in own)
        waiting = sum(each.bytes for each in self._waiting if each.client in own)
        if held + waiting + amount > most:
            raise InvalidInput(
                f"an array of {amount} bytes: clients of user {user} may hold {most} bytes together and hold {held}"
                f"{f' and wait for {waiting}' if waiting else ''}; free some, or have the server's "
                "memory_bytes_per_user raised"
            )

    def _too_long(self, ticket: Ticket, patience_s: float) -> str:
        others = {client: held for client, held in self._held.items() if client != ticket.client}
        holders = ", ".join(f"client {client}: {held}" for client, held in sorted(others.items())) or "no other client"
        ahead = ", ".join(f"client {each.client} waits for {each.bytes}" for each in self._ahead_of(ticket))
        own = self._held[ticket.client]
        return (
            f"no {ticket.bytes} bytes of device memory within {patience_s:g} s: of {self.total_bytes} this client "
            f"holds {own}; others hold: {holders}" + (f"; ahead of it: {ahead}" if ahead else "")
        )
