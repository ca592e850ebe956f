# SPDX-License-Identifier: Apache-2.0
"""A worker, as the supervisor sees it: a process to hand clients to, started again whenever it ends."""

from __future__ import annotations

import contextlib
import logging
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence

from gpushare._core import InvalidInput
from gpushare.daemon.errors import DaemonGoneError, DeviceLostError, WorkerLostError
from gpushare.daemon.protocol.limits import SEND_TIMEOUT_S
from gpushare.daemon.protocol.wire import packed
from gpushare.daemon.settings import Settings, to_dict

LOG = logging.getLogger("gpushare.daemon.supervisor.supervisor")
COMMAND = (sys.executable, "-P", "-m", "gpushare.daemon.worker.main")
LONGEST_PAUSE_S = 10.0
LIVED_WELL_S = 30.0
"""Who lived that long is started again at once."""
DEVICE_PATIENCE_S = 5.0
"""A device that cannot be opened for so long is lost: nobody is told of an outage that ends before."""
NO_DEVICE_PAUSE_S = 10.0
"""Between looks whether a lost device is back."""
HAND_OVER_TIMEOUT_S = 30.0
START_TIMEOUT_S = 120.0
"""A machine with much else to do may take long to load what a worker needs."""
READY = b"ready"
"""What a worker says once it serves; anything else is why it does not."""


class WorkerProcess:
    """One device's.

    Args:
        device: its name.
        number: among the devices.
        settings: the server's.
        log_json: whether it logs JSON.
        command: how it is started; the descriptor of its socket is put behind it.
    """

    def __init__(
        self, device: str, number: int, settings: Settings, log_json: bool, command: Sequence[str] | None = None
    ) -> None:
        self.device = device
        self.restarts = 0
        self._command = tuple(command or COMMAND)
        port = settings.metrics_port
        self._order = packed({
            "device": device,
            "settings": to_dict(settings),
            "log_json": log_json,
            "log_level": logging.getLevelName(LOG.getEffectiveLevel()),
            "metrics_port": None if port is None else port + number,
        })[4:]  # fmt: skip
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._changed = threading.Condition()
        self._closed = False
        self._failure: str | None = None  # why the device cannot be opened
        self._last_end = ""

    @property
    def pid(self) -> int | None:
        """Of the process that now serves the device."""
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        """Starts the first one, and keeps one running from then on.

        Raises:
            InvalidInput: it cannot open its device; the message says why.
        """
        process, ours = self._spawn()
        said = _heard(ours)
        if said != READY:
            ours.close()
            _end(process)
            raise InvalidInput(said.decode(errors="replace") or f"the worker of {self.device} does not start")
        self._install(process, ours)
        threading.Thread(target=self._keep, name=f"keeper of {self.device}", daemon=True).start()

    def hand_over(self, connection: socket.socket, grant: bytes) -> None:
        """Gives the worker a client; waits for one to be started.

        Raises:
            DaemonGoneError: the server ends.
            DeviceLostError: none can be, since the device cannot be opened; the message says why.
            WorkerLostError: there is none.
            OSError: it has just ended, or takes nobody.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._socket or self._closed or self._failure, HAND_OVER_TIMEOUT_S)
            if self._closed:
                raise DaemonGoneError(f"the server of {self.device} ends")
            if self._failure is not None:
                raise DeviceLostError(_no_device(self.device, self._failure))
            if self._socket is None:
                why = f"the last one ended ({self._last_end}); the server's log says more"
                raise WorkerLostError(f"{self.device} has no worker: {why}")
            ours = self._socket.dup()  # another thread may close it, and its number be used again
        with ours:  # a worker that hangs takes nothing, and must not keep the lock from who ends it
            socket.send_fds(ours, [grant], [connection.fileno()])

    def close(self) -> None:
        """Ends it."""
        with self._changed:
            self._closed = True
            if self._socket is not None:
                with contextlib.suppress(OSError):  # it has ended already
                    self._socket.shutdown(socket.SHUT_RDWR)  # also for who is about to hand a client over
                self._socket.close()
                self._socket = None
            process = self._process
            self._changed.notify_all()
        if process is not None:
            _end(process)

    def _spawn(self) -> tuple[subprocess.Popen[bytes], socket.socket]:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            with theirs:
                process = subprocess.Popen([*self._command, str(theirs.fileno())], pass_fds=[theirs.fileno()])
        except BaseException:
            ours.close()
            raise
        ours.settimeout(START_TIMEOUT_S)
        with contextlib.suppress(OSError):  # it has died already, and whoever waits for it sees that
            ours.sendall(self._order)
        return process, ours

    def _install(self, process: subprocess.Popen[bytes], ours: socket.socket | None) -> None:
        with self._changed:
            if self._closed and ours is not None:
                ours.close()
            self._process = process
            self._socket = None if self._closed else ours
            self._failure = None
            self._changed.notify_all()
        if self._closed:
            _end(process)

    def _keep(self) -> None:
        pause_s = 0.0
        while not self._closed:
            began = time.monotonic()
            self._await_end()
            if self._closed:
                return
            lived_well = time.monotonic() - began > LIVED_WELL_S
            pause_s = 0.0 if lived_well else _longer(pause_s)
            LOG.error("the worker of %s ended (%s); another one is started", self.device, self._last_end)
            self._pause(pause_s)
            self._start_another()

    def _await_end(self) -> None:
        status = self._process.wait() if self._process else 0
        with self._changed:
            if self._socket is not None:
                self._socket.close()
            self._socket = None
            self._last_end = _words(status)

    def _pause(self, seconds: float) -> None:
        """Until then, or until there is no use in another worker."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed, seconds)

    def _start_another(self) -> None:
        """One that serves, or has ended without a word; until the device can be opened there is none."""
        pause_s, patience_ends = 0.0, time.monotonic() + DEVICE_PATIENCE_S
        while not self._closed:
            self.restarts += 1
            try:
                process, ours = self._spawn()
            except OSError as error:  # for now there are no descriptors, or no memory, for another process
                LOG.error("a worker of %s cannot be started: %s", self.device, error)
                pause_s = _longer(pause_s)
                self._pause(pause_s)
                continue
            said = _heard(ours)
            if said == READY:
                return self._install(process, ours)
            ours.close()
            if not said:  # it has died, and nobody knows that the next one would
                return self._install(process, None)
            _end(process)
            pause_s = self._until_next_look(said.decode(errors="replace"), pause_s, patience_ends)
            self._pause(pause_s)
        return None

    def _until_next_look(self, why: str, last_pause_s: float, patience_ends: float) -> float:
        """Soon, while there is hope; then clients hear that the device is lost."""
        left_s = patience_ends - time.monotonic()
        if left_s > 0:
            LOG.warning("%s cannot be opened: %s; it is tried again", self.device, why)
            return min(_longer(last_pause_s), left_s)
        self._fail(why)
        return NO_DEVICE_PAUSE_S

    def _fail(self, why: str) -> None:
        """Whoever waits for a worker is told, and whoever comes."""
        if why != self._failure:  # and not once per look
            LOG.error("%s", _no_device(self.device, why))
        with self._changed:
            self._failure = why
            self._changed.notify_all()


def _heard(ours: socket.socket) -> bytes:
    try:
        said = ours.recv(4096)
    except TimeoutError:
        return f"the worker has not begun to serve within {START_TIMEOUT_S:g} s".encode()
    except OSError:
        return b""
    ours.settimeout(SEND_TIMEOUT_S)
    return said


def _end(process: subprocess.Popen[bytes]) -> None:
    """Its socket is closed, so it ends; what holds it up is not waited for long."""
    try:
        process.wait(timeout=2)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _no_device(device: str, why: str) -> str:
    """In words that say what to do."""
    words = f"the server cannot open {device}: {why}; it tries again every {NO_DEVICE_PAUSE_S:g} s"
    return f"{words}; gpushare doctor on its machine says what is there" if device.startswith("cuda") else words


def _longer(pause_s: float) -> float:
    return min(max(2 * pause_s, 0.05), LONGEST_PAUSE_S)


def _words(status: int) -> str:
    """How it ended.

    >>> _words(-9), _words(-35), _words(71)
    ('signal SIGKILL', 'signal 35', 'exit status 71')
    """
    if status >= 0:
        return f"exit status {status}"
    try:
        return f"signal {signal.Signals(-status).name}"
    except ValueError:  # most real-time ones have no name
        return f"signal {-status}"
