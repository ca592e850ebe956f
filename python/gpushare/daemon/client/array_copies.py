# SPDX-License-Identifier: Apache-2.0
"""Copies between a client's memory and arrays, in pieces through shared arenas.

While the worker copies one piece between arena and device, the client copies another between arena and its memory. The
arenas fit the processor's cache, and they are reused, so they are pinned once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from gpushare.daemon.client.registrations import Registered
    from gpushare.daemon.client.reply import Reply
    from gpushare.daemon.protocol.arena import Arena

PIECE_BYTES = 1 << 24
AHEAD = 2
"""Pieces in flight at a time, one arena each."""


def write(registered: Registered, handle: int, values: np.ndarray) -> None:
    """Copies these bytes into the array with this handle."""
    if (place := registered.pinned_place(values)) is not None:
        registered.begin_copy("write", handle, 0, *place, values.size).result()
        return
    with ExitStack() as arenas:
        pieces = _Pieces(registered, arenas, values.size)
        for offset in range(0, values.size, PIECE_BYTES):
            part = values[offset : offset + PIECE_BYTES]
            arena, number = pieces.next_arena()
            np.frombuffer(arena.view, np.uint8, part.size)[...] = part
            pieces.began(registered.begin_copy("write", handle, offset, number, 0, part.size).result)
        pieces.finish()


def read(registered: Registered, handle: int, target: np.ndarray) -> None:
    """Copies the array's contents into these bytes."""
    if (place := registered.pinned_place(target)) is not None:
        registered.begin_copy("read", handle, 0, *place, target.size).result()
        return
    with ExitStack() as arenas:
        pieces = _Pieces(registered, arenas, target.size)
        for offset in range(0, target.size, PIECE_BYTES):
            part = target[offset : offset + PIECE_BYTES]
            arena, number = pieces.next_arena()
            reply = registered.begin_copy("read", handle, offset, number, 0, part.size)

            def take(part: np.ndarray = part, arena: Arena = arena, reply: Reply = reply) -> None:
                reply.result()
                part[...] = np.frombuffer(arena.view, np.uint8, part.size)

            pieces.began(take)
        pieces.finish()


class _Pieces:
    """Pieces in flight and their arenas, used in rotation."""

    def __init__(self, registered: Registered, arenas: ExitStack, size: int) -> None:
        count = AHEAD if size > PIECE_BYTES else 1
        self._idle = [arenas.enter_context(registered.arena(min(size, PIECE_BYTES))) for _ in range(count)]
        self._busy: deque[tuple[Callable[[], object], tuple[Arena, int]]] = deque()
        self._next: tuple[Arena, int] | None = None

    def next_arena(self) -> tuple[Arena, int]:
        """An arena without a piece in flight, and its number."""
        if not self._idle:
            self._end_first()
        self._next = self._idle.pop()
        return self._next

    def began(self, end: Callable[[], object]) -> None:
        """Registers a piece in flight in that arena; ``end`` waits for it."""
        assert self._next is not None  # next_arena has chosen it
        self._busy.append((end, self._next))

    def finish(self) -> None:
        """Waits for all pieces."""
        while self._busy:
            self._end_first()

    def _end_first(self) -> None:
        end, arena = self._busy.popleft()
        end()
        self._idle.append(arena)
