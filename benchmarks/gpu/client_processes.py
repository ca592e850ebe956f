# SPDX-License-Identifier: Apache-2.0
"""Processes that use the GPU on command, for benchmarks that compare ways of sharing."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

LEAD_S = 0.05
"""Time from the command to loop to the start of the window, in seconds."""
REPOSITORY = Path(__file__).parents[2]


class Client:
    """A process of one of this folder's modules: it reads windows of time on stdin, and writes answers to stdout."""

    def __init__(self, module: str, arguments: Sequence[str], environment: Mapping[str, str]) -> None:
        self._words = " ".join([module, *arguments])
        path = os.pathsep.join([str(REPOSITORY), *filter(None, [os.environ.get("PYTHONPATH")])])
        self._process = subprocess.Popen(
            [sys.executable, "-m", f"{__package__}.{module}", *arguments],
            env=os.environ | {"PYTHONPATH": path} | dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    def loop(self, start_ns: int, end_ns: int) -> None:
        """Loops from now until a little after the window."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([start_ns, end_ns]) + "\n")
        self._process.stdin.flush()

    def answer(self) -> Any:
        """The answer about the window; the first one reports that it is ready."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process {self._words} has ended: {self._process.wait()}")
        return json.loads(line)

    def close(self) -> None:
        """Ends the process."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


@contextlib.contextmanager
def started(
    module: str, arguments: Sequence[Sequence[str]], environments: Sequence[Mapping[str, str]]
) -> Iterator[list[Client]]:
    """Starts a process for each at the same time; yields once all are ready."""
    clients: list[Client] = []
    try:
        for each, environment in zip(arguments, environments, strict=True):
            clients.append(Client(module, each, environment))
        for client in clients:
            client.answer()
        yield clients
    finally:
        for client in clients:
            client.close()


def answers(clients: Sequence[Client], window_ms: float, lead_s: float = LEAD_S) -> list[Any]:
    """The answers of these clients about one window in which all of them loop; others wait."""
    start_ns = time.monotonic_ns() + round(lead_s * 1e9)
    for client in clients:
        client.loop(start_ns, start_ns + round(window_ms * 1e6))
    return [client.answer() for client in clients]
