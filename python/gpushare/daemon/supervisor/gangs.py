# SPDX-License-Identifier: Apache-2.0
"""Memory for the workers that schedule one program on several GPUs."""

from __future__ import annotations

import os
import select
import threading

from gpushare import _core
from gpushare.checks import require


class Gangs:
    """A board for each program on several GPUs, until the process that has started the program ends."""

    def __init__(self) -> None:
        self._boards: dict[int, tuple[int, _core.SharedMemory]] = {}
        self._lock = threading.Lock()

    def board_of(self, pid: int) -> _core.SharedMemory:
        """The board of the program that this process has started.

        Raises:
            InvalidInput: the process cannot be seen from here.
        """
        require(
            pid > 0,
            "--all-gpus: the server does not see the process of gpushare run, which is in another PID namespace",
        )
        with self._lock:
            self._forget_ended()
            if pid not in self._boards:
                self._boards[pid] = os.pidfd_open(pid), _core.gang_board()
            return self._boards[pid][1]

    def close(self) -> None:
        """Gives up all."""
        with self._lock:
            for process, _ in self._boards.values():
                os.close(process)
            self._boards.clear()

    def _forget_ended(self) -> None:
        for pid, (process, _) in list(self._boards.items()):
            ended = select.poll()
            ended.register(process, select.POLLIN)
            if ended.poll(0):
                os.close(process)
                del self._boards[pid]
