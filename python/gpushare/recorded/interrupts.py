# SPDX-License-Identifier: Apache-2.0
"""Signals that this process gets while another program runs in the foreground for it."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

PATIENCE_S = 5.0
"""After SIGTERM. A recorded program whose handler calls _exit may take 3 s to write what is missing."""
HEARD = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)


class ProgramSignals:
    """Whoever ends this process means the program, which is waited for: so what it did until then counts.

    All but SIGINT are passed on, also those by which Slurm asks for a checkpoint. SIGINT is the program's own affair
    the first time: a terminal sends Ctrl-C to both, and without one it is passed on. At the second the program gets a
    SIGTERM; SIGKILL follows if that does not help, or at the third.
    """

    def __init__(self) -> None:
        self._program: subprocess.Popen[bytes] | None = None
        self._early: list[int] = []
        self._interrupts = 0

    def are_for(self, program: subprocess.Popen[bytes]) -> None:
        """Also those that have come already."""
        self._program = program
        while self._early:
            self.hear(self._early.pop(0))

    def hear(self, number: int, _frame: FrameType | None = None) -> None:
        """A signal has come."""
        if self._program is None:
            self._early.append(number)
        elif number == signal.SIGINT:
            self._interrupt(self._program)
        else:
            self._program.send_signal(number)

    def _interrupt(self, program: subprocess.Popen[bytes]) -> None:
        self._interrupts += 1
        if self._interrupts == 1 and not _has_terminal():
            program.send_signal(signal.SIGINT)
        elif self._interrupts == 2:
            program.terminate()
            patience = threading.Timer(PATIENCE_S, program.kill)
            patience.daemon = True
            patience.start()
        elif self._interrupts > 2:
            program.kill()


@contextmanager
def signals_for_program() -> Iterator[ProgramSignals]:
    """From now on signals are a program's, which may be started later."""
    signals = ProgramSignals()
    # Only the main thread hears them, and not those that are ignored on purpose, as by nohup and in the background.
    heard = [each for each in HEARD if signal.getsignal(each) != signal.SIG_IGN]
    if threading.current_thread() is not threading.main_thread():
        heard = []
    before = {each: signal.signal(each, signals.hear) for each in heard}
    try:
        yield signals
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _has_terminal() -> bool:
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY | os.O_CLOEXEC))
    except OSError:
        return False
    return True
