# SPDX-License-Identifier: Apache-2.0
"""The server that schedules a program: one that is there, or one that is started for it and that others may join."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from gpushare import _core
from gpushare._core import InvalidInput
from gpushare.daemon.client.server_socket import answers
from gpushare.daemon.errors import DaemonGoneError
from gpushare.daemon.settings import PROGRAMS, default_socket
from gpushare.model.workload import PRIORITIES

DEFAULT_POLICY = "auto"
START_TIMEOUT_S = 60.0
COMMAND = (sys.executable, "-P", "-m", "gpushare", "serve", "--while-used", "--log-level", "WARNING")


def joined_or_started(server: Path | None, policy: str | None) -> tuple[Path, Sequence[int] | None]:
    """The socket of a server, and the users that may own it; None: any.

    Args:
        server: named by the user.
        policy: for one that is started.

    Raises:
        InvalidInput: a server is there, which has a policy already; or it does not know this policy.
        DaemonGoneError: the one that was started has ended.
    """
    if server is not None:
        return server, None
    path, trusted = default_socket(), (os.getuid(), 0)
    if policy is not None:
        _core.require_policy(policy)
    if answers(path):
        if policy is not None:
            raise InvalidInput(
                f"the server at {path} has a policy already: leave --policy out, or change it for all of its programs "
                f"with gpushare policy {policy} --device {PROGRAMS}"
            )
        return path, trusted
    _start(path, policy or DEFAULT_POLICY)
    return path, trusted


def _start(path: Path, policy: str) -> None:
    """Two programs may do so at once: then one server ends at once, and both join the other."""
    settings = os.memfd_create("settings")
    os.write(settings, f"highest_priority = {PRIORITIES[1]}\n".encode())  # the user's programs are all that there are
    command = [*COMMAND, "--device", PROGRAMS, "--policy", policy, "--socket", str(path)]
    command += ["--config", f"/proc/self/fd/{settings}"]
    log = path.with_name(f"{path.name}.log")
    with os.fdopen(settings), log.open("ab") as file:  # not this command's output, which may be read to its end
        server = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, start_new_session=True, pass_fds=[settings]
        )
    ends_s = time.monotonic() + START_TIMEOUT_S
    while not answers(path):
        if server.poll() is not None and not answers(path):
            raise DaemonGoneError(f"the server for this program ended at once: {last_line(log)}; more in {log}")
        if time.monotonic() > ends_s:
            server.kill()
            raise DaemonGoneError(f"the server for this program did not serve within {START_TIMEOUT_S:g} s")


def last_line(log: Path) -> str:
    """Why a server has ended, as far as it says so."""
    lines = log.read_text(errors="replace").strip().splitlines()
    return lines[-1] if lines else "it said nothing"
