# SPDX-License-Identifier: Apache-2.0
"""Runs a program with gpushare's library between it and the CUDA driver."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from gpushare import _core
from gpushare._core import InvalidInput
from gpushare.programs.driver_folder import PAGE_VARIABLE, driver_folder, environment
from gpushare.recorded.interrupts import signals_for_program

LOG = logging.getLogger("gpushare.programs")
PATIENCE_S = 0.02
"""Time until a killed process's entry is free again, in seconds."""
LOOKS_PER_LOOK_FURTHER = 25


@dataclass(frozen=True)
class EndedProgram:
    """Data about a program that has ended.

    Attributes:
        code: its exit code; negative where a signal ended it.
        wall_s: its wall-clock time, in seconds.
        processes: number of its processes that have used CUDA for longer than a moment.
        totals: totals over all of them.
        kernels: the launched kernels, with their shapes.
        whole_reasons: why kernels or images of code run whole though workers were asked for, and how many.
    """

    code: int
    wall_s: float
    processes: int
    totals: _core.ProgramTotals
    kernels: list[_core.ProgramKernel]
    whole_reasons: list[tuple[str, int]]


class NoProgramError(InvalidInput):
    """There is no such file."""


class NotRunnableError(InvalidInput):
    """The file is not a program, or may not be executed."""


class ProcessWatch:
    """Frees the entries of processes that have ended without notice, as after ``kill -9``, and counts all processes.

    Args:
        page: the program's shared page.
        look: called periodically.
    """

    def __init__(self, page: _core.ProgramPage, look: Callable[[], None]) -> None:
        self._page = page
        self._look_further = look
        self._ended = threading.Event()
        self._seen: set[int] = set()
        self._thread = threading.Thread(target=self._watch, name="processes", daemon=True)
        self._thread.start()

    def end(self) -> int:
        """Stops, and returns the number of processes."""
        self._ended.set()
        self._thread.join()
        self._look()
        return len(self._seen)

    def _watch(self) -> None:
        looks = 0
        while not self._ended.wait(PATIENCE_S):
            self._look()
            looks += 1
            if looks % LOOKS_PER_LOOK_FURTHER == 0:
                try:
                    self._look_further()
                except Exception:  # any exception: entries of dead processes are freed all the same
                    LOG.exception("processes cannot be checked")

    def _look(self) -> None:
        self._seen.update(self._page.processes())
        self._page.release_dead()


def found_program(command: Sequence[str]) -> str:
    """The file that the command runs.

    Raises:
        InvalidInput: there is none, or this process already runs under gpushare run.
    """
    if PAGE_VARIABLE in os.environ:
        raise InvalidInput(
            "this process already runs under gpushare run: programs that it starts are scheduled with it"
        )
    if not command:
        raise InvalidInput("no program: gpushare run -- PROGRAM ARGUMENTS...")
    found = shutil.which(command[0])
    if found is None:
        if os.path.exists(command[0]):
            raise NotRunnableError(f"{command[0]!r} is not a program that can be run: is it executable?")
        raise NoProgramError(f"no program {command[0]!r}: it is neither a file that can be run nor on the PATH")
    return found


def run_program(
    command: Sequence[str],
    page: _core.ProgramPage,
    on_start: Callable[[int], None] = lambda _: None,
    look: Callable[[], None] = lambda: None,
    more_environment: Mapping[str, str] | None = None,
) -> EndedProgram:
    """Runs the command until it ends; signals of this process are the program's.

    Args:
        command: the program and its arguments.
        page: the program's shared page.
        on_start: called with its process id.
        look: called twice a second from then on.
        more_environment: variables of its environment, besides those of this process.

    Raises:
        InvalidInput: there is no such program.
        CudaError: there is no driver, or gpushare was built without its library.
    """
    program = found_program(command)
    with driver_folder() as folder, signals_for_program() as signals:
        began_s = time.monotonic()
        try:
            others = {**os.environ, **(more_environment or {})}
            running = subprocess.Popen([program, *command[1:]], env=environment(folder, page.descriptor, others))
        except OSError as error:
            raise NotRunnableError(f"{command[0]!r} cannot be run: {error.strerror}") from error
        on_start(running.pid)
        watch = ProcessWatch(page, look)
        code = signals.until_end(running)
        wall_s, processes = time.monotonic() - began_s, watch.end()
        return EndedProgram(code, wall_s, processes, page.totals(), page.kernels(), page.whole_reasons())
