# SPDX-License-Identifier: Apache-2.0
"""The program of the compiler process, in which NVRTC and nvJitLink run: user input may crash or hang them.

It is started as core_process.py describes. Requests arrive on stdin, answers go to stdout; each is a pickle after its
length. It ends when its parent process ends.
"""

from __future__ import annotations

import os
import pickle
import queue
import resource
import signal
import struct
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import IO, Any, BinaryIO

LENGTH = struct.Struct("<Q")
LONGEST_SIGNATURE = 1 << 16
DEMANGLER_BYTES = 64 << 20
DEMANGLER_S = 1


def write_message(stream: IO[bytes], message: object) -> None:
    """Writes one message."""
    body = pickle.dumps(message)
    stream.write(LENGTH.pack(len(body)) + body)
    stream.flush()


def read_message(stream: BinaryIO) -> Any:
    """Reads the next message; EOFError at the end."""
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        raise EOFError
    return pickle.loads(stream.read(LENGTH.unpack(head)[0]))


class Libraries:
    """The libraries, each opened at the first request that names it."""

    def __init__(self, core: ModuleType) -> None:
        self.nvrtc = cache(core.Nvrtc)
        self.nvjitlink = cache(core.NvJitLink)
        self._demangled = core.demangled

    def describe(self, nvrtc: tuple[str, str], nvjitlink: str) -> dict[str, Any]:
        """Versions and supported architectures."""
        compiler = self.nvrtc(*nvrtc)
        return {
            "nvrtc": compiler.version,
            "nvjitlink": self.nvjitlink(nvjitlink).version,
            "architectures": compiler.architectures,
        }

    def compile(self, nvrtc: tuple[str, str], **arguments: Any) -> dict[str, Any]:
        """Compiles CUDA C++ to PTX."""
        result = self.nvrtc(*nvrtc).compile(**arguments)
        return {name: getattr(result, name) for name in ("succeeded", "log", "ptx", "lowered_names")}

    def link(self, nvjitlink: str, **arguments: Any) -> dict[str, Any]:
        """Links PTX to a cubin."""
        result = self.nvjitlink(nvjitlink).link(**arguments)
        return {name: getattr(result, name) for name in ("succeeded", "cubin", "error_log", "info_log")}

    def demangled(self, name: str) -> str:
        """The C++ signature; empty where it would be too long to be useful.

        A short symbol can expand to gigabytes. The alarm ends this process then, since the demangler continues to count
        even without memory for the result.
        """
        try:
            with limited(DEMANGLER_BYTES, DEMANGLER_S):
                signature: str = self._demangled(name)
        except MemoryError:
            return ""
        return signature if len(signature) <= LONGEST_SIGNATURE else ""


@contextmanager
def limited(more_bytes: int, seconds: int) -> Iterator[None]:
    """Limits memory to ``more_bytes`` above the present use, and ends the process after ``seconds``."""
    limits = resource.getrlimit(resource.RLIMIT_AS)
    present = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (present + more_bytes, limits[1]))
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        resource.setrlimit(resource.RLIMIT_AS, limits)


def answer(libraries: Libraries, verb: str, arguments: dict[str, Any]) -> tuple[str, Any]:
    """The answer to a request: a result, or an error message."""
    try:
        return "result", getattr(libraries, verb)(**arguments)
    except Exception as error:
        return "error", f"{error}"


def _read_requests(requests: queue.SimpleQueue[Any]) -> None:
    try:
        while True:
            requests.put(read_message(sys.stdin.buffer))
    except EOFError:
        os._exit(0)  # The parent process has ended or closed the pipe, so a running compilation is ended too.


def main(core: ModuleType) -> None:
    """Answers requests until stdin ends."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # Output of the libraries must not be mixed with the answers.
    libraries = Libraries(core)
    requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_read_requests, args=[requests], daemon=True).start()
    while True:
        write_message(answers, answer(libraries, *requests.get()))
