# SPDX-License-Identifier: Apache-2.0
"""Finds a server for a program, or starts one that other programs may join."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpushare import _core
from gpushare._core import InvalidInput
from gpushare.daemon.client.server_socket import answers
from gpushare.daemon.errors import DaemonGoneError, DeviceLostError
from gpushare.daemon.settings import PROGRAMS, default_socket
from gpushare.model.workload import PRIORITIES
from gpushare.policy import require_built_in, require_open_ordering
from gpushare.programs.attachment import Attachment, attached

DEFAULT_POLICY = "auto"
DEFAULT_ORDERING = "arrival"
START_TIMEOUT_S = 120.0
"""Time in which a server starts, in seconds: for a machine on which all processors are in use."""
LONGEST_JOINING_S = 5.0
"""For so long, servers that end while the program joins them are followed by others, in seconds."""
PAUSE_S = 0.2
"""The pause before the next one, in seconds."""
LOOK_PAUSE_S = 0.02
"""The pause between looks for a server that starts, in seconds."""
COMMAND = (sys.executable, "-P", "-m", "gpushare", "serve", "--while-used", "--log-level", "WARNING")


@dataclass(frozen=True)
class ServerChoice:
    """The server that a program asks for.

    Attributes:
        socket: the socket that the user names; None: that of the user, where a server is started if there is none.
        policy: policy of a server that is started.
        ordering: its ordering of copies and launches.
    """

    socket: Path | None = None
    policy: str | None = None
    ordering: str | None = None


@contextmanager
def scheduled(
    page: _core.ProgramPage, choice: ServerChoice, application: Mapping[str, Any], *, to_all_gpus: bool = False
) -> Iterator[list[Attachment]]:
    """The program's connections to that server. One that ends with its last program may do so at this moment.

    Args:
        page: the program's shared page.
        choice: of the server.
        application: name, priority and weight, as the server takes them.
        to_all_gpus: it keeps all GPUs that it may use, and is scheduled on all.

    Raises:
        InvalidInput: a server with a policy and an ordering is running already; or there are no such ones; or it
            schedules no programs.
        DaemonGoneError: the server has ended.
        RefusedError: it refuses the user, or the requested priority or weight.
    """
    with ExitStack() as ends:
        ends_s = time.monotonic() + LONGEST_JOINING_S
        while True:
            path, trusted, is_new = _joined_or_started(choice)
            try:
                all_gpus = attached(page, path, trusted, application, to_all_gpus=to_all_gpus)
                attachments = ends.enter_context(all_gpus)
                break
            except DeviceLostError:
                raise
            except DaemonGoneError:
                if choice.socket is not None or is_new or time.monotonic() > ends_s:
                    raise
                time.sleep(PAUSE_S)
        yield attachments


def _joined_or_started(choice: ServerChoice) -> tuple[Path, Sequence[int] | None, bool]:
    """The socket of a server, the users that may own it (None: any), and whether it was started."""
    if choice.socket is not None:
        return choice.socket, None, False
    policy, ordering = choice.policy, choice.ordering
    path, trusted = default_socket(), (os.getuid(), 0)
    if policy is not None:
        require_built_in(policy)
    if ordering is not None:
        require_open_ordering(ordering)
    if answers(path):
        if policy is not None:
            raise InvalidInput(
                f"the server at {path} has a policy already: leave --policy out, or change it for all of its programs "
                f"with gpushare set-policy {policy} --device {PROGRAMS}"
            )
        if ordering is not None:
            raise InvalidInput(
                f"the server at {path} has an ordering already, which cannot be changed: leave --ordering out, or name "
                "another server's socket in GPUSHARE_SOCKET"
            )
        return path, trusted, False
    _start(path, policy or DEFAULT_POLICY, ordering or DEFAULT_ORDERING)
    return path, trusted, True


def _start(path: Path, policy: str, ordering: str) -> None:
    """Two programs may start one at the same time: then one server ends at once, and both join the other."""
    settings = os.memfd_create("settings")
    os.write(settings, f"highest_priority = {PRIORITIES[1]}\n".encode())  # the server has only this user's programs
    command = [*COMMAND, "--device", PROGRAMS, "--policy", policy, "--socket", str(path)]
    command += ["--ordering", ordering, "--config", f"/proc/self/fd/{settings}"]
    with os.fdopen(settings):
        started(command, path, start_new_session=True, pass_fds=[settings])


def started(command: Sequence[str], path: Path, **options: Any) -> subprocess.Popen[bytes]:
    """A server that serves, whose log is beside its socket.

    It has the usual urgency if its first program has less, as under ``nice``, and this user may give it that: it serves
    other programs, too.

    Args:
        command: of the server.
        path: of its socket.
        options: further ones of :class:`subprocess.Popen`.

    Raises:
        DaemonGoneError: it has ended, or does not serve; the message has the reason.
    """
    log = path.with_name(f"{path.name}.log")
    with log.open("ab") as file:  # not this command's output: its reader may wait for the end
        server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, **options)
    with suppress(PermissionError, ProcessLookupError):
        os.setpriority(os.PRIO_PROCESS, server.pid, min(0, os.getpriority(os.PRIO_PROCESS, server.pid)))
    ends_s = time.monotonic() + START_TIMEOUT_S
    while not answers(path):
        if server.poll() is not None and not answers(path):
            raise DaemonGoneError(f"the server ended at once: {_last_line(log)}; more in {log}")
        if time.monotonic() > ends_s:
            server.kill()
            raise DaemonGoneError(f"the server did not serve within {START_TIMEOUT_S:g} s")
        time.sleep(LOOK_PAUSE_S)
    return server


def _last_line(log: Path) -> str:
    """The reason why a server has ended, if its log has one."""
    lines = log.read_text(errors="replace").strip().splitlines()
    return lines[-1] if lines else "its log is empty"
