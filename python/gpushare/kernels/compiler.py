# SPDX-License-Identifier: Apache-2.0
"""Runs NVRTC and nvJitLink in a separate process: its crash or hang does not affect the caller."""

from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import selectors
import signal
import subprocess
import tempfile
import threading
import time
from typing import IO, Any

from gpushare._core import CudaError
from gpushare.core_process import command_for, leads_session
from gpushare.kernels import compiler_process
from gpushare.kernels.compiler_process import LENGTH
from gpushare.kernels.cuda_libraries import CudaLibraries, cuda_libraries

TIMEOUT_S = 120.0
"""Longest duration of one compilation, in seconds."""


class CompilerCrashError(Exception):
    """The process ended before it answered; the message is its exit status."""


class CompilerTimeoutError(Exception):
    """The process did not answer in time; the message is the time limit."""


class Compiler:
    """Compiles CUDA C++ to PTX to machine code, in a process that starts at first use and again after a crash.

    Calls from several threads are serialised.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._messages: IO[bytes] | None = None
        self._description: dict[str, Any] | None = None

    def describe(self) -> dict[str, Any]:
        """``nvrtc`` and ``nvjitlink``: major and minor version; ``architectures``: 90 for sm_90."""
        if self._description is None:
            found = cuda_libraries()
            self._description = self._request("describe", nvrtc=_nvrtc(found), nvjitlink=found.nvjitlink)
        return self._description

    def compile(
        self, source: str, *, file_name: str, name_expressions: list[str], options: list[str]
    ) -> dict[str, Any]:
        """``succeeded``, ``log``, ``ptx`` and ``lowered_names``, one per name expression."""
        return self._request(
            "compile",
            nvrtc=_nvrtc(cuda_libraries()),
            source=source,
            file_name=file_name,
            name_expressions=name_expressions,
            options=options,
        )

    def link(self, ptx: str, *, name: str, options: list[str]) -> dict[str, Any]:
        """``succeeded``, ``cubin``, ``error_log`` and ``info_log``."""
        return self._request("link", nvjitlink=cuda_libraries().nvjitlink, ptx=ptx, name=name, options=options)

    def demangled(self, name: str) -> str:
        """The C++ signature of a symbol; empty where there is none, or it is too long to be useful."""
        return self._request("demangled", name=name)

    @property
    def process_id(self) -> int | None:
        """Process id; None while there is no process."""
        return self._process.pid if self._process is not None else None

    def close(self) -> None:
        """Ends the process; the next call starts another."""
        with self._lock:
            self._end()

    def forget(self) -> None:
        """In a forked process: drops the compiler's process, which belongs to the parent."""
        if self._process is not None:
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    pipe.close()
            self._process.returncode = 0  # The parent process waits for it.
        self.__init__()  # type: ignore[misc] # as new, and the class has no subclass

    def _request(self, verb: str, **arguments: Any) -> Any:
        with self._lock:
            process = self._running()
            assert process.stdin is not None
            try:
                compiler_process.write_message(process.stdin, (verb, arguments))
                kind, content = self._answer(process)
            except (EOFError, BrokenPipeError) as error:
                raise CompilerCrashError(self._last_words(process)) from error
            except BaseException:
                self._end()  # An unread answer would be taken for the answer to the next request.
                raise
        if kind == "error":
            raise CudaError(content)
        return content

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._end()
            self._messages = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process
            self._process = subprocess.Popen(
                command_for(compiler_process.__file__),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._messages,
                cwd="/",
                start_new_session=not leads_session(),  # Only the process that waits for the answer handles Ctrl-C.
            )
        return self._process

    def _answer(self, process: subprocess.Popen[bytes]) -> tuple[str, Any]:
        assert process.stdout is not None
        deadline = time.monotonic() + TIMEOUT_S
        (length,) = LENGTH.unpack(_read(process.stdout.fileno(), LENGTH.size, deadline))
        return pickle.loads(_read(process.stdout.fileno(), length, deadline))

    def _last_words(self, process: subprocess.Popen[bytes]) -> str:
        status = process.wait()
        how = signal.Signals(-status).name if status < 0 else f"exit status {status}"
        assert self._messages is not None
        self._messages.seek(0)
        words = self._messages.read()[-2000:].decode(errors="replace").strip()
        self._end()
        return f"{how}\n{words}" if words else how

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    _close(pipe)
            self._process.wait()
        if self._messages is not None:
            self._messages.close()
        self._process = self._messages = None


def _close(pipe: IO[bytes]) -> None:
    with contextlib.suppress(BrokenPipeError):  # The process ended before it read the whole request.
        pipe.close()


def _read(file: int, size: int, deadline: float) -> bytes:
    """Reads ``size`` bytes; raises EOFError or CompilerTimeoutError."""
    received = bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(file, selectors.EVENT_READ)
        while len(received) < size:
            if not selector.select(max(0.0, deadline - time.monotonic())):
                raise CompilerTimeoutError(f"{TIMEOUT_S:g} s")
            part = os.read(file, size - len(received))
            if not part:
                raise EOFError
            received += part
    return bytes(received)


def _nvrtc(found: CudaLibraries) -> tuple[str, str]:
    return found.nvrtc, found.nvrtc_builtins


COMPILER = Compiler()
"""The compiler of this process."""

atexit.register(COMPILER.close)
os.register_at_fork(after_in_child=COMPILER.forget)
