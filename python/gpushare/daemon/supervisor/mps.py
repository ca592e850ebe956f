# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's Multi-Process Service (MPS) for the programs of a server, so that their kernels run at the same time.

Its folder is beside the server's socket. It is started with the server and again whenever it ends or does not answer.
When the server ends it is told to end, too, which it does after its last program. The next server at that socket takes
over an MPS whose server was killed.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path

from gpushare._core import InvalidInput

LOG = logging.getLogger("gpushare.daemon.mps")
CONTROL = "nvidia-cuda-mps-control"
MPS = b"nvidia-cuda-mps-"
"""In the command line of the control and of its servers."""
PIPES, LOGS = "CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY"
LOOK_S = 5.0
"""Interval between questions whether it is alive, in seconds."""
ANSWER_TIMEOUT_S = 10.0
START_TIMEOUT_S = 30.0
ENDED = (
    "MPS has ended or hangs, as a killed program can leave it; it is started again. Programs that used it get errors "
    "from CUDA, and have to be started again, too"
)
PAUSE_S = 1.0
"""Time before it is started again, in seconds."""


class Mps:
    """An MPS and the thread that keeps it running.

    Args:
        socket: path of the server's socket.

    Raises:
        InvalidInput: MPS is not installed, or does not start; the message has its reason.
    """

    def __init__(self, socket: Path) -> None:
        if shutil.which(CONTROL) is None:
            raise InvalidInput(f"--mps: {CONTROL} is not installed; it comes with the NVIDIA driver")
        self._folder = socket.absolute().with_name(socket.name + ".mps")
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = threading.Event()
        for each in self.environment.values():
            Path(each).mkdir(mode=0o700, parents=True, exist_ok=True)
        if self._answers():
            LOG.info("the MPS at %s is taken over", self._folder)
        else:
            self._start()
        self._keeper = threading.Thread(target=self._keep, name="MPS", daemon=True)
        self._keeper.start()

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables of the programs that are to use it."""
        return {PIPES: str(self._folder / "pipe"), LOGS: str(self._folder / "log")}

    def close(self) -> None:
        """Lets it end after its last program; a second call does nothing."""
        if self._closed.is_set():
            return
        self._closed.set()
        self._keeper.join()  # it may be starting another MPS, which would remain
        with contextlib.suppress(OSError):
            quitting = subprocess.Popen(
                [CONTROL],
                env={**os.environ, **self.environment},
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # it waits for programs, also after the server has ended
            )
            assert quitting.stdin is not None
            with quitting.stdin as commands, contextlib.suppress(BrokenPipeError):
                commands.write(b"quit\n")
            threading.Thread(target=self._reap, args=[quitting], name="end of MPS", daemon=True).start()

    def _reap(self, quitting: subprocess.Popen[bytes]) -> None:
        quitting.wait()
        if self._process is not None:
            self._process.wait()

    def _start(self) -> None:
        log = self._folder / "control.txt"
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [CONTROL, "-f"],
                env={**os.environ, **self.environment},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        try:
            is_there = self._comes_up(self._process)
        except BaseException:  # Ctrl-C and SIGTERM
            self._kill()
            raise
        if not is_there:
            self._kill()
            words = log.read_text(errors="replace").strip() or f"it has not answered; its logs are in {self._folder}"
            raise InvalidInput(f"MPS does not start: {words}")
        LOG.info("MPS serves programs at %s", self._folder)

    def _comes_up(self, process: subprocess.Popen[bytes]) -> bool:
        ends_s = time.monotonic() + START_TIMEOUT_S
        while not self._answers():
            if process.poll() is not None or time.monotonic() > ends_s or self._closed.is_set():
                return False
            time.sleep(0.05)
        return True

    def _answers(self) -> bool:
        try:
            return self._ask("get_server_list").returncode == 0
        except (OSError, subprocess.TimeoutExpired):
            return False

    def _ask(self, command: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [CONTROL],
            input=command.encode() + b"\n",
            env={**os.environ, **self.environment},
            capture_output=True,
            timeout=ANSWER_TIMEOUT_S,
            check=False,
        )

    def _keep(self) -> None:
        while not self._closed.wait(LOOK_S):
            has_ended = self._process is not None and self._process.poll() is not None
            if (not has_ended and self._answers()) or self._closed.is_set():
                continue
            LOG.error("%s", ENDED)
            self._kill()
            try:
                self._start()
            except (InvalidInput, OSError) as error:
                if not self._closed.wait(PAUSE_S):
                    LOG.error("%s; it is tried again", error)

    def _kill(self) -> None:
        """Ends the control process and its servers, whose process ids it has written down."""
        for name in ("nvidia-cuda-mps-server.pid", "nvidia-cuda-mps-control.pid"):
            with contextlib.suppress(OSError, ValueError):
                pid = int(Path(self.environment[PIPES], name).read_text())
                if MPS in Path(f"/proc/{pid}/cmdline").read_bytes():  # otherwise a later process has the number
                    os.kill(pid, signal.SIGKILL)
        if self._process is not None:
            self._process.kill()
            self._process.wait()
