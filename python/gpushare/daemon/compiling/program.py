# SPDX-License-Identifier: Apache-2.0
"""The program of a compile process, which isolates one user's compilations from the worker and other users.

Its memory is limited, and so is that of its compilers; where the machine has no memory left, they are ended first. It
leads a process group, which ends as a whole: by its parent process, or with it.
"""

from __future__ import annotations

import os
import queue
import re
import resource
import signal
import sys
import threading
from pathlib import Path
from typing import Any, BinaryIO

from gpushare.daemon.compiling.messages import read, write
from gpushare.daemon.errors import as_message
from gpushare.daemon.protocol.kernel_wire import kernel_of
from gpushare.daemon.protocol.messages import RegisterKernel
from gpushare.files.schema import checked
from gpushare.kernels.compile_error import CompileError

NICENESS = 5
MOST_FILE_BYTES = 1 << 30
FIRST_TO_GO = b"1000"
OUT_OF_MEMORY = re.compile("out of memory|bad_alloc|memory allocation|insufficient memory", re.IGNORECASE)
MUCH = 0.5
"""Part of the memory limit: a failure above it may be due to the limit."""


def limit(most_bytes: int) -> None:
    """Limits memory to ``most_bytes`` above the present use, and files to the same size.

    The limit holds for this process and for each that it starts.
    """
    present = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (present + most_bytes, present + most_bytes))
    resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_FILE_BYTES, MOST_FILE_BYTES))
    os.nice(NICENESS)
    Path("/proc/self/oom_score_adj").write_bytes(FIRST_TO_GO)


def answer(request: dict[str, Any], most_bytes: int) -> dict[str, Any]:
    """The compiled kernel as a cache entry, or the error."""
    try:
        kernel = kernel_of(checked(request["kernel"], RegisterKernel), request["content"])
        document, files = kernel.compile(request["arch"]).to_entry()
    except CompileError as error:
        hint = of_memory(most_bytes) if lacked_memory(str(error), most_bytes) else ""
        return {"error": as_message(CompileError(error.summary + hint, log=error.log, text="", options=error.options))}
    except MemoryError:
        why = f"kernel {request['kernel']['name']!r} does not compile{of_memory(most_bytes)}"
        return {"error": as_message(CompileError(why, log="", text=""))}
    except Exception as error:
        return {"error": as_message(error)}
    return {"document": document, "files": {"original": files["original"], "ptx": b""}}  # a worker needs no PTX


def lacked_memory(said: str, most_bytes: int) -> bool:
    """Whether it may have failed for lack of memory; compilers do not always report that."""
    most_taken = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    return OUT_OF_MEMORY.search(said) is not None or most_taken > MUCH * most_bytes


def of_memory(most_bytes: int) -> str:
    """The limit as error messages name it."""
    return f", with {most_bytes} bytes of memory (the server's configuration: compile_memory_bytes)"


def _read_requests(stream: BinaryIO, requests: queue.SimpleQueue[dict[str, Any]]) -> None:
    try:
        while True:
            requests.put(read(stream))
    except EOFError:
        os.killpg(0, signal.SIGKILL)  # this process, too: its parent has ended, even while a compilation runs


def main(most_bytes: int) -> None:
    """Answers requests until stdin ends."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output of libraries must not be mixed with the answers
    requests: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_read_requests, args=[sys.stdin.buffer, requests], daemon=True).start()
    limit(most_bytes)
    while True:
        write(answers, answer(requests.get(), most_bytes))


if __name__ == "__main__":
    main(int(sys.argv[1]))
