# SPDX-License-Identifier: Apache-2.0
"""The program of the process in which NVRTC and nvJitLink run: they may crash or hang on what users hand over.

It is started as core_process.py says. Requests come on stdin, answers go to stdout; each is a pickle behind its
length. It ends with whoever started it.
"""

from __future__ import annotations

import os
import pickle
import queue
import struct
import sys
import threading
from functools import cache
from types import ModuleType
from typing import Any, BinaryIO

LENGTH = struct.Struct("<Q")


def write_message(stream: BinaryIO, message: object) -> None:
    """One message, whole."""
    body = pickle.dumps(message)
    stream.write(LENGTH.pack(len(body)) + body)
    stream.flush()


def read_message(stream: BinaryIO) -> Any:
    """The next message; EOFError where there is none."""
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        raise EOFError
    return pickle.loads(stream.read(LENGTH.unpack(head)[0]))


class Libraries:
    """The libraries, each opened when a request first names it."""

    def __init__(self, core: ModuleType) -> None:
        self.nvrtc = cache(core.Nvrtc)
        self.nvjitlink = cache(core.NvJitLink)

    def describe(self, nvrtc: tuple[str, str], nvjitlink: str) -> dict[str, Any]:
        """Versions, and what can be compiled for."""
        compiler = self.nvrtc(*nvrtc)
        return {
            "nvrtc": compiler.version,
            "nvjitlink": self.nvjitlink(nvjitlink).version,
            "architectures": compiler.architectures,
        }

    def compile(self, nvrtc: tuple[str, str], **arguments: Any) -> dict[str, Any]:
        """CUDA C++ to PTX."""
        result = self.nvrtc(*nvrtc).compile(**arguments)
        return {name: getattr(result, name) for name in ("succeeded", "log", "ptx", "lowered_names")}

    def link(self, nvjitlink: str, **arguments: Any) -> dict[str, Any]:
        """PTX to a cubin."""
        result = self.nvjitlink(nvjitlink).link(**arguments)
        return {name: getattr(result, name) for name in ("succeeded", "cubin", "error_log", "info_log")}


def answer(libraries: Libraries, verb: str, arguments: dict[str, Any]) -> tuple[str, Any]:
    """What the request is answered with: a result, or an error in words."""
    try:
        return "result", getattr(libraries, verb)(**arguments)
    except Exception as error:
        return "error", f"{error}"


def _read_requests(requests: queue.SimpleQueue[Any]) -> None:
    try:
        while True:
            requests.put(read_message(sys.stdin.buffer))
    except EOFError:
        os._exit(0)  # Whoever started this process is gone, or wants it gone, even while a compilation runs.


def main(core: ModuleType) -> None:
    """Answers requests until stdin ends."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # What the libraries print must not get in between the answers.
    libraries = Libraries(core)
    requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_read_requests, args=[requests], daemon=True).start()
    while True:
        write_message(answers, answer(libraries, *requests.get()))
