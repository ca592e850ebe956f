# SPDX-License-Identifier: Apache-2.0
"""The program of a worker. The supervisor starts it with a socket, and sends its settings there."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import sys

from gpushare.checks import require
from gpushare.daemon.descriptors import permit_many
from gpushare.daemon.logs import log_to_stderr
from gpushare.daemon.protocol.limits import MOST_MESSAGE_BYTES
from gpushare.daemon.protocol.wire import unpacked
from gpushare.daemon.served_devices import is_programs, opened_as
from gpushare.daemon.settings import Settings
from gpushare.daemon.supervisor.worker_process import READY
from gpushare.daemon.worker.history import keep_looking, look_at
from gpushare.daemon.worker.kernel_session import KernelSession
from gpushare.daemon.worker.served_programs import ServedPrograms
from gpushare.daemon.worker.served_session import ServedSession
from gpushare.daemon.worker.watchdog import watch
from gpushare.daemon.worker.worker import OpenSession, Worker
from gpushare.files.schema import checked

LOG = logging.getLogger("gpushare.daemon.worker")
EXIT_NO_DEVICE = 72
"""Exit status after an error in opening the device: another worker is not started at once."""


def open_session(device: str, settings: Settings) -> ServedSession:
    """What the worker's clients share."""
    if is_programs(device):
        return ServedPrograms(settings.policy, settings.ordering, has_mps=settings.mps)
    return KernelSession(opened_as(device), settings.policy, settings.ordering)


def main(descriptor: int, open_session: OpenSession = open_session) -> None:
    """Serves until the supervisor ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the supervisor, which ends the worker
    permit_many()
    supervisor = socket.socket(fileno=descriptor)
    order = unpacked(supervisor.recv(MOST_MESSAGE_BYTES))
    settings = checked(order["settings"], Settings)
    each = settings.log_lines_per_second
    log_to_stderr(as_json=order["log_json"], level=order["log_level"], lines_per_second=each)
    require(isinstance(order["device"], str), "the supervisor's message has no device")
    try:
        worker = Worker(order["device"], settings, open_session)
    except Exception as error:
        LOG.debug("%s cannot be served: %s", order["device"], error)  # the supervisor logs it, once
        _say(supervisor, str(error).encode()[:4096])
        os._exit(EXIT_NO_DEVICE)
    _say(supervisor, READY)
    keep_looking(worker.history, lambda: look_at(worker))
    if not is_programs(worker.device):  # a program that blocks holds up no other one for good
        watch(worker)
    LOG.info("%s is served under policy %s, ordering %s", worker.device, worker.policy, settings.ordering)
    worker.serve(supervisor)
    os._exit(0)  # running launches end with the process; waiting for them would delay the next server


def _say(supervisor: socket.socket, words: bytes) -> None:
    """Sends a message to a supervisor that may have ended meanwhile."""
    with contextlib.suppress(OSError):
        supervisor.send(words)


if __name__ == "__main__":
    main(int(sys.argv[1]))
