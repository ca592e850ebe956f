# SPDX-License-Identifier: Apache-2.0
"""Forwards signals of this process to a program that runs in the foreground for it."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

PATIENCE_S = 5.0
"""Time after SIGTERM, in seconds. A recorded program with a handler that calls _exit may take 3 s to write the rest of
its recording."""
HEARD = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)


class ProgramSignals:
    """Forwards signals to the program and waits for its end, so that its recording up to then is usable.

    All but SIGINT are forwarded, also those by which Slurm asks for a checkpoint. A terminal sends the first SIGINT to
    both processes; without a terminal it is forwarded. At the second, the program gets a SIGTERM; SIGKILL follows if
    that has no effect, or at the third.
    """

    def __init__(self) -> None:
        self._program: subprocess.Popen[bytes] | None = None
        self._early: list[int] = []
        self._interrupts = 0

    def until_end(self, program: subprocess.Popen[bytes]) -> int:
        """Forwards to this program, including signals that have arrived before, and returns its exit code."""
        self._program = program
        while self._early:
            self.hear(self._early.pop(0))
        if threading.current_thread() is not threading.main_thread():
            return program.wait()
        with _wakeups() as wakeups:
            while (code := program.poll()) is None:
                os.read(wakeups, 4096)
        return code

    def hear(self, number: int, _frame: FrameType | None = None) -> None:
        """Handles a signal."""
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
    """Forwards signals from now on to a program that may be started later."""
    signals = ProgramSignals()
    # Only the main thread can handle signals. Ignored ones stay ignored, as under nohup and in the background.
    heard = [each for each in HEARD if signal.getsignal(each) != signal.SIG_IGN]
    if threading.current_thread() is not threading.main_thread():
        heard = []
    before = {each: signal.signal(each, signals.hear) for each in heard}
    try:
        yield signals
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


@contextmanager
def _wakeups() -> Iterator[int]:
    """A pipe that gets bytes at each signal and at each child's end.

    A signal does not end waitpid() if it arrives just before, or in another thread; its handler would run only then.
    """
    read, write = os.pipe()
    os.set_blocking(write, False)
    before = signal.signal(signal.SIGCHLD, lambda *_: None)  # without a handler no byte
    previous = signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    try:
        yield read
    finally:
        signal.set_wakeup_fd(previous)
        signal.signal(signal.SIGCHLD, before)
        os.close(write)
        os.close(read)


def _has_terminal() -> bool:
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY | os.O_CLOEXEC))
    except OSError:
        return False
    return True
