# SPDX-License-Identifier: Apache-2.0
"""Compiles kernels of a worker's clients in processes that may fail, separate for each user."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from typing import Any

from gpushare._core import CudaError
from gpushare.daemon.compiling.messages import LENGTH, packed, unpacked
from gpushare.daemon.compiling.program import of_memory
from gpushare.daemon.compiling.queue import LOOK_S, CompileQueue
from gpushare.daemon.errors import from_message
from gpushare.daemon.protocol.kernel_wire import kernel_fields
from gpushare.daemon.protocol.limits import MOST_COMPILED_BYTES
from gpushare.daemon.settings import Settings
from gpushare.kernels.compile_error import CompileError
from gpushare.kernels.compiled_kernel import CompiledKernel
from gpushare.kernels.kernel import Kernel

COMMAND = (sys.executable, "-P", "-m", "gpushare.daemon.compiling.program")
FEW_THREADS = {"OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"}
"""Each thread or arena would reserve memory, which counts towards the limit."""
PART = 1 << 16


class Compilations:
    """Runs compilations, with the limits of number, memory and time in the server's configuration.

    Args:
        settings: the server's settings.
    """

    def __init__(self, settings: Settings) -> None:
        self._queue = CompileQueue(settings.compilations)
        self._most_bytes = settings.compile_memory_bytes
        self._seconds = settings.compile_seconds
        self._idle: dict[str, CompileProcess] = {}
        self._lock = threading.Lock()

    def compile(self, kernel: Kernel, arch: str, user: str, client: int, is_gone: Callable[[], bool]) -> CompiledKernel:
        """Compiles the kernel when the queue admits the client.

        Raises:
            CompileError: it does not compile, or not within the limits.
            InvalidInput: there is no such kernel or architecture.
            CudaError: CUDA's libraries are missing.
            EOFError: the client has gone, and the compilation was ended.
        """
        with self._queue.place(user, client, is_gone):
            process = self._process_of(user)
            try:
                answer = process.answer(_request(kernel, arch), time.monotonic() + self._seconds, is_gone)
            except TimeoutError:
                process.end()
                why = f"has not compiled within {self._seconds:g} s (the server's configuration: compile_seconds)"
                raise CompileError(f"kernel {kernel.name!r} {why}", log="", text="") from None
            except (OSError, ValueError) as error:
                how = f"its compiler has {process.end()} ({error}){of_memory(self._most_bytes)}"
                raise CompileError(f"kernel {kernel.name!r}: {how}", log="", text="") from None
            except BaseException:
                process.end()
                raise
            self._keep(user, process)
        if "error" in answer:
            raise from_message(answer["error"])
        return CompiledKernel.from_entry(answer["document"], answer["files"])

    def forget(self, user: str) -> None:
        """Ends the processes of a user without clients."""
        with self._lock:
            process = self._idle.pop(user, None)
        if process is not None:
            process.end()

    def _process_of(self, user: str) -> CompileProcess:
        with self._lock:
            process = self._idle.pop(user, None)
        if process is not None and process.is_there:
            return process
        return CompileProcess(self._most_bytes)

    def _keep(self, user: str, process: CompileProcess) -> None:
        with self._lock:
            surplus = self._idle.pop(user, None)
            self._idle[user] = process
        if surplus is not None:
            surplus.end()


class CompileProcess:
    """A compile process and the compilers that it starts.

    Args:
        most_bytes: memory limit of each of them, in bytes.
    """

    def __init__(self, most_bytes: int) -> None:
        self._folder = tempfile.mkdtemp(prefix="gpushare-compiling-")
        try:
            self._process = subprocess.Popen(
                [*COMMAND, str(most_bytes)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,  # compilers print untrusted text, and the answer has the result
                env=os.environ | FEW_THREADS | {"TMPDIR": self._folder},
                cwd="/",
                start_new_session=True,  # the group is ended as a whole
            )
        except OSError as error:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise CudaError(f"no process can be started to compile in: {error}") from error

    @property
    def is_there(self) -> bool:
        """Whether the process has not ended."""
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        """Process id, which is also the id of the process group."""
        return self._process.pid

    def answer(self, request: dict[str, Any], deadline: float, is_gone: Callable[[], bool]) -> dict[str, Any]:
        """Sends a request and returns the answer.

        Raises:
            TimeoutError: there is no answer by ``deadline``.
            EOFError: the client has gone.
            OSError: the process has ended.
            ValueError: the output is not an answer.
        """
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        data = memoryview(packed(request))
        os.set_blocking(stdin.fileno(), False)
        while data:
            self._wait(stdin.fileno(), select.POLLOUT, deadline, is_gone)
            data = data[os.write(stdin.fileno(), data) :]
        (length,) = LENGTH.unpack(self._read(stdout.fileno(), LENGTH.size, deadline, is_gone))
        if length > MOST_COMPILED_BYTES:
            raise ValueError(f"an answer of {length} bytes; at most {MOST_COMPILED_BYTES} are taken")
        return unpacked(self._read(stdout.fileno(), length, deadline, is_gone))

    def _read(self, file: int, size: int, deadline: float, is_gone: Callable[[], bool]) -> bytes:
        received = bytearray()
        while len(received) < size:
            self._wait(file, select.POLLIN, deadline, is_gone)
            part = os.read(file, min(size - len(received), PART))
            if not part:
                raise OSError("it closed its output")
            received += part
        return bytes(received)

    def _wait(self, file: int, event: int, deadline: float, is_gone: Callable[[], bool]) -> None:
        ready = select.poll()
        ready.register(file, event)
        while not ready.poll(1000 * min(LOOK_S, max(deadline - time.monotonic(), 0))):
            if is_gone():
                raise EOFError("the client is gone")
            if time.monotonic() >= deadline:
                raise TimeoutError

    def end(self) -> str:
        """Ends the process group; returns how the process had ended before, if it had."""
        by_itself = self._process.poll()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)
        if by_itself is None:
            return "been ended"
        return f"ended by {signal.Signals(-by_itself).name}" if by_itself < 0 else f"ended with status {by_itself}"


def _request(kernel: Kernel, arch: str) -> dict[str, Any]:
    content = kernel._source.content
    return {"kernel": kernel_fields(kernel) | {"source_bytes": len(content)}, "content": content, "arch": arch}
