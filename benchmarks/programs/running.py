# SPDX-License-Identifier: Apache-2.0
"""Starts servers of programs, and programs that answer requests."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from gpushare import _core
from gpushare.programs.driver_folder import driver_folder, environment

GPUSHARE = (sys.executable, "-m", "gpushare")
PATIENCE_S = 60
NVCC_PLACES = ("/usr/local/cuda/bin/nvcc",)
LONGEST_HOLD_NS = 5_000_000_000
TRAINING = (sys.executable, "-m", "benchmarks.programs.training", "--requests")


class ProgramFailedError(SystemExit):
    """A program has ended, or does not answer: what a benchmark ends with, unless it can do without."""


def compile_with_nvcc(*arguments: str) -> None:
    """Runs nvcc, from the path or where CUDA's toolkit puts it.

    Raises:
        SystemExit: there is none.
    """
    nvcc = shutil.which("nvcc") or next((place for place in NVCC_PLACES if Path(place).is_file()), None)
    if nvcc is None:
        raise SystemExit("no nvcc, which compiles the programs: install CUDA's toolkit")
    subprocess.run([nvcc, *arguments], check=True)


@contextmanager
def server_for(policy: str, folder: Path, *, has_mps: bool = False, ordering: str = "arrival") -> Iterator[list[str]]:
    """A server of programs, and the beginning of a command that runs a program there."""
    settings, socket = folder / "serve.toml", folder / "socket"
    settings.write_text(f'highest_priority = 10\nmps = {str(has_mps).lower()}\nordering = "{ordering}"\n')
    serve = [*GPUSHARE, "serve", "--device", "programs", "--policy", policy, "--config", str(settings)]
    server = subprocess.Popen([*serve, "--socket", str(socket), "--log-level", "WARNING"])
    try:
        ends_s = time.monotonic() + PATIENCE_S
        while not socket.exists():
            if server.poll() is not None or time.monotonic() > ends_s:
                raise ProgramFailedError(f"the server under {policy} does not serve")
            time.sleep(0.05)
        yield [*GPUSHARE, "run", "--server", str(socket)]
    finally:
        server.terminate()
        server.wait()


@contextmanager
def page_without_server(*, makes_workers: bool = False) -> Iterator[tuple[_core.ProgramPage, dict[str, str]]]:
    """A page that no server knows, and the environment of a program that has it."""
    page = _core.ProgramPage(0, LONGEST_HOLD_NS, makes_workers)
    with driver_folder() as folder:
        yield page, environment(folder, page.descriptor, os.environ)


class Answering:
    """A program that prints a JSON line when it is ready, and one for each line of its input."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, env=environment
        )

    def send(self, line: str) -> None:
        """Requests something."""
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")

    def read(self, timeout_s: float | None = None) -> dict[str, Any]:
        """The next line; with a timeout only where no line before it has been left unread.

        Raises:
            ProgramFailedError: the program has ended, or the line does not come in time.
        """
        assert self.process.stdout is not None
        if timeout_s is not None and not select.select([self.process.stdout], [], [], timeout_s)[0]:
            raise ProgramFailedError(f"{self.process.args!r} has not answered within {timeout_s:g} s")
        line = self.process.stdout.readline()
        if not line:
            raise ProgramFailedError(f"{self.process.args!r} has ended with {self.process.wait()}")
        found: dict[str, Any] = json.loads(line)
        return found

    def ask(self, line: str) -> dict[str, Any]:
        """Requests something, and waits for the answer."""
        self.send(line)
        return self.read()

    def kill(self) -> None:
        """Ends it without waiting for what it does, and its input: a program of ``gpushare run`` outlives that."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.kill()
        with self.process.stdout, suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait()

    def close(self) -> None:
        """Ends the program's input, after which it ends."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with self.process.stdout:
            try:
                self.process.stdin.close()
                self.process.wait(PATIENCE_S)
            except (BrokenPipeError, subprocess.TimeoutExpired):
                self.process.kill()
                self.process.wait()


def answering(stack: ExitStack, command: Sequence[str], environment: Mapping[str, str] | None = None) -> Answering:
    """A program that ends with the stack."""
    program = Answering(command, environment)
    stack.callback(program.close)
    return program


def write(path: Path, results: Mapping[str, Any]) -> None:
    """Keeps results, so that a benchmark that is interrupted leaves them."""
    path.write_text(json.dumps(results, indent=1) + "\n")
