# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C while another program runs in the foreground."""

from __future__ import annotations

import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

PATIENCE_S = 5.0
"""After SIGTERM. A recorded program whose handler calls _exit may take 3 s to write what is missing."""


@contextmanager
def second_interrupt_ends(program: subprocess.Popen[bytes]) -> Iterator[None]:
    """The first Ctrl-C is the program's own affair: it gets it too, and what it did until then counts.

    At the second the program gets a SIGTERM; SIGKILL follows if that does not help, or at the third.
    """
    # Only the main thread is interrupted, and not where the shell has it so, as in the background.
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        yield
        return
    counted = 0

    def count(_number: int, _frame: FrameType | None) -> None:
        nonlocal counted
        counted += 1
        if counted == 2:
            program.terminate()
            patience = threading.Timer(PATIENCE_S, program.kill)
            patience.daemon = True
            patience.start()
        elif counted > 2:
            program.kill()

    before = signal.signal(signal.SIGINT, count)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
