# SPDX-License-Identifier: Apache-2.0
"""The supervisor's view of a worker: a process that takes clients, and is started again whenever it ends."""

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
from dataclasses import dataclass

from gpushare._core import InvalidInput
from gpushare.checks import MOST_BYTES
from gpushare.daemon.errors import DaemonGoneError, DeviceLostError, ProtocolError, WorkerLostError
from gpushare.daemon.protocol.grant import LoadReport
from gpushare.daemon.protocol.limits import SEND_TIMEOUT_S
from gpushare.daemon.protocol.wire import packed, unpacked
from gpushare.daemon.settings import Settings, to_dict
from gpushare.files.schema import checked

LOG = logging.getLogger("gpushare.daemon.supervisor")
COMMAND = (sys.executable, "-P", "-m", "gpushare.daemon.worker.main")
LONGEST_PAUSE_S = 10.0
LIVED_WELL_S = 30.0
"""A worker that lived at least this long is started again at once."""
DEVICE_PATIENCE_S = 5.0
"""Time after which a device that cannot be opened counts as lost; clients wait through shorter outages."""
NO_DEVICE_PAUSE_S = 10.0
"""Interval between attempts to open a lost device."""
HAND_OVER_TIMEOUT_S = 30.0
START_TIMEOUT_S = 120.0
"""A busy machine may take long to load a worker's libraries."""
FIRST_REPORT_S = 5.0
"""A worker says what it has as soon as it serves."""
MOST_REPORT_BYTES = 4096
READY = b"ready"
"""The worker's message once it serves; any other message is an error."""


@dataclass(frozen=True)
class Load:
    """What a worker has.

    Attributes:
        clients: connected, or on their way to it; without those that only watch.
        total_bytes: device memory for clients.
        free_bytes: the part of it that none holds.
    """

    clients: int
    total_bytes: int
    free_bytes: int


class WorkerProcess:
    """The worker of one device.

    Args:
        device: name of the device.
        settings: the server's settings.
        log_json: whether it logs JSON.
        command: the command that starts it; the descriptor of its socket is appended.
    """

    def __init__(self, device: str, settings: Settings, log_json: bool, command: Sequence[str] | None = None) -> None:
        self.device = device
        self.restarts = 0
        self._command = tuple(command or COMMAND)
        self._order = packed({
            "device": device,
            "settings": to_dict(settings),
            "log_json": log_json,
            "log_level": logging.getLevelName(LOG.getEffectiveLevel()),
        })[4:]  # fmt: skip
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._changed = threading.Condition()
        self._closed = False
        self._failure: str | None = None  # the reason why the device cannot be opened
        self._last_end = ""
        self._expected = 0  # clients that will be passed to it
        self._handed_over = 0  # to this process, without those that only watch
        self._report = LoadReport(taken=0, clients=0, total_bytes=MOST_BYTES, used_bytes=0)
        self._has_reported = False

    @property
    def is_usable(self) -> bool:
        """Whether it can be given clients, as far as is known."""
        return self._failure is None

    @property
    def load(self) -> Load:
        """What it has, with the clients that it has not seen yet."""
        with self._changed:
            said = self._report
            coming = self._expected + max(self._handed_over - said.taken, 0)
            return Load(said.clients + coming, said.total_bytes, said.total_bytes - said.used_bytes)

    def expect(self, clients: int = 1) -> None:
        """So many more clients will be passed to it, and count from now on; less than 0: they do not come."""
        with self._changed:
            self._expected += clients

    @property
    def pid(self) -> int | None:
        """Id of the process that now serves the device."""
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        """Starts the first process, and keeps one running from then on.

        Raises:
            InvalidInput: it cannot open its device; the message has the reason.
        """
        process, ours = self._spawn()
        said = _heard(ours)
        if said != READY:
            ours.close()
            _end(process)
            raise InvalidInput(said.decode(errors="replace") or f"the worker of {self.device} does not start")
        self._install(process, ours)
        threading.Thread(target=self._keep, name=f"keeper of {self.device}", daemon=True).start()
        with self._changed:  # before the first report, a client that needs more memory than there is would be let in
            self._changed.wait_for(lambda: self._has_reported or self._socket is None, FIRST_REPORT_S)

    def hand_over(
        self, connection: socket.socket, grant: bytes, board: Sequence[int] = (), *, is_expected: bool = False
    ) -> None:
        """Passes a client to the worker; waits for one to be started.

        Args:
            connection: of the client, and of the caller, too.
            grant: the message about it.
            board: descriptor of the memory for a program on several GPUs.
            is_expected: whether it has been counted by :meth:`expect`, which ends here.

        Raises:
            DaemonGoneError: the server ends.
            DeviceLostError: no worker can start, since the device cannot be opened; the message has the reason.
            WorkerLostError: there is no worker.
            OSError: it has just ended, or accepts no client.
        """
        with self._changed:
            try:
                ours = self._present_socket()
                self._handed_over += is_expected
            finally:
                self._expected -= is_expected
        try:
            with ours:  # a worker that hangs accepts nothing, and the lock must stay available for ending it
                socket.send_fds(ours, [grant], [connection.fileno(), *board])
        except OSError:
            with self._changed:
                self._handed_over -= is_expected
            raise

    def _present_socket(self) -> socket.socket:
        """A copy, since another thread may close it, and its number may be reused."""
        self._changed.wait_for(lambda: self._socket or self._closed or self._failure, HAND_OVER_TIMEOUT_S)
        if self._closed:
            raise DaemonGoneError(f"the server of {self.device} ends")
        if self._failure is not None:
            raise DeviceLostError(_no_device(self.device, self._failure))
        if self._socket is None:
            why = f"the last one ended ({self._last_end}); the server's log says more"
            raise WorkerLostError(f"{self.device} has no worker: {why}")
        return self._socket.dup()

    def close(self) -> None:
        """Ends the process."""
        with self._changed:
            self._closed = True
            if self._socket is not None:
                with contextlib.suppress(OSError):  # it has ended already
                    self._socket.shutdown(socket.SHUT_RDWR)  # also for a thread that is about to pass a client
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
        with contextlib.suppress(OSError):  # it has died already, and the waiting thread detects that
            ours.sendall(self._order)
        return process, ours

    def _install(self, process: subprocess.Popen[bytes], ours: socket.socket | None) -> None:
        with self._changed:
            if self._closed and ours is not None:
                ours.close()
            self._process = process
            self._socket = None if self._closed else ours
            self._failure = None
            self._handed_over = 0
            self._report = self._report.model_copy(update={"taken": 0, "clients": 0, "used_bytes": 0})
            reports = self._socket.dup() if self._socket is not None else None
            self._changed.notify_all()
        if reports is not None:
            threading.Thread(target=self._hear, args=[reports], name=f"load of {self.device}", daemon=True).start()
        if self._closed:
            _end(process)

    def _hear(self, reports: socket.socket) -> None:
        """Reads what this process of the worker says of its load, until it ends."""
        with reports:
            while True:
                try:
                    said = reports.recv(MOST_REPORT_BYTES)
                except TimeoutError:  # it has had nothing to say
                    continue
                except OSError:
                    return
                if not said:
                    return
                try:
                    report = checked(unpacked(said), LoadReport)
                except (ProtocolError, ValueError):
                    LOG.exception("the worker's message is not a report")
                    continue
                with self._changed:
                    self._report = report
                    self._has_reported = True
                    self._changed.notify_all()

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
        """Waits for this time, or until no further worker is needed."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed, seconds)

    def _start_another(self) -> None:
        """Starts processes until one serves or ends without a message; retries while the device cannot be opened."""
        pause_s, patience_ends = 0.0, time.monotonic() + DEVICE_PATIENCE_S
        while not self._closed:
            self.restarts += 1
            try:
                process, ours = self._spawn()
            except OSError as error:  # no descriptors or no memory for another process at present
                LOG.error("a worker of %s cannot be started: %s", self.device, error)
                pause_s = _longer(pause_s)
                self._pause(pause_s)
                continue
            said = _heard(ours)
            if said == READY:
                return self._install(process, ours)
            ours.close()
            if not said:  # it has died, and the next one may succeed
                return self._install(process, None)
            _end(process)
            pause_s = self._until_next_look(said.decode(errors="replace"), pause_s, patience_ends)
            self._pause(pause_s)
        return None

    def _until_next_look(self, why: str, last_pause_s: float, patience_ends: float) -> float:
        """The next pause: short at first; later the device counts as lost and clients receive the error."""
        left_s = patience_ends - time.monotonic()
        if left_s > 0:
            LOG.warning("%s cannot be opened: %s; it is tried again", self.device, why)
            return min(_longer(last_pause_s), left_s)
        self._fail(why)
        return NO_DEVICE_PAUSE_S

    def _fail(self, why: str) -> None:
        """Ends the wait of present and later clients with the error."""
        if why != self._failure:  # only a new reason, not every attempt
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
    """Its socket is closed, so it ends; the wait for that is limited."""
    try:
        process.wait(timeout=2)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _no_device(device: str, why: str) -> str:
    """The error message, with what to do."""
    words = f"the server cannot open {device}: {why}; it tries again every {NO_DEVICE_PAUSE_S:g} s"
    return f"{words}; run gpushare doctor on its machine" if device.startswith("cuda") else words


def _longer(pause_s: float) -> float:
    return min(max(2 * pause_s, 0.05), LONGEST_PAUSE_S)


def _words(status: int) -> str:
    """How a process ended, from its status.

    >>> _words(-9), _words(-35), _words(71)
    ('signal SIGKILL', 'signal 35', 'exit status 71')
    """
    if status >= 0:
        return f"exit status {status}"
    try:
        return f"signal {signal.Signals(-status).name}"
    except ValueError:  # most real-time signals have no name
        return f"signal {-status}"
