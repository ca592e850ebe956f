# SPDX-License-Identifier: Apache-2.0
"""A program's connection to the server that schedules it.

If the server ends, the program continues without scheduling, and joins the next server.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gpushare import _core
from gpushare._core import InvalidInput
from gpushare.checks import number
from gpushare.daemon.client.link import Link
from gpushare.daemon.settings import PROGRAMS

LOG = logging.getLogger("gpushare.programs")
MPS_VARIABLES = ("CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY")
PAUSE_S = 0.5
"""Interval between attempts to join a server again, in seconds."""


def mps_variables(said: object) -> dict[str, str]:
    """Of what a server asks to be set, the variables of MPS: others could change what the program does.

    >>> mps_variables({"CUDA_MPS_PIPE_DIRECTORY": "/run/a.mps/pipe", "LD_PRELOAD": "/tmp/b.so"})
    {'CUDA_MPS_PIPE_DIRECTORY': '/run/a.mps/pipe'}
    """
    pairs = said.items() if isinstance(said, Mapping) else ()
    return {name: value for name, value in pairs if isinstance(value, str) and name in MPS_VARIABLES}


def with_share(mps: Mapping[str, str], share: float | None) -> dict[str, str]:
    """The variables of a program that may use this share of the SMs.

    Raises:
        InvalidInput: there is a share, and no MPS to keep it; or it is no share.

    >>> with_share({"CUDA_MPS_PIPE_DIRECTORY": "/run/a.mps/pipe"}, 0.3)["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"]
    '30'
    """
    if share is None:
        return dict(mps)
    if not mps:
        raise InvalidInput(f"--sms {share:g}: the server has no MPS for this user; start it with gpushare serve --mps")
    percentage = round(100 * number("--sms", share, 0.01, 1))
    return {**mps, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": str(percentage)}


def with_urgency(mps: Mapping[str, str], priority: int) -> dict[str, str]:
    """The variables of a program of this priority: under MPS, blocks of programs with a positive one go first.

    MPS has two classes of programs, which are set when a program starts.

    >>> with_urgency({"CUDA_MPS_PIPE_DIRECTORY": "/run/a.mps/pipe"}, 0)["CUDA_MPS_CLIENT_PRIORITY"]
    '1'
    >>> with_urgency({}, 0)
    {}
    """
    return {**mps, "CUDA_MPS_CLIENT_PRIORITY": "0" if priority > 0 else "1"} if mps else {}


class Attachment:
    """A connection, from the first attempt until it is closed.

    Args:
        page: the program's shared page.
        path: path of the server's socket.
        trusted_uids: users that are trusted as owners of the server; None: all.
        application: name, priority and weight, as the server takes them.

    Raises:
        DaemonGoneError: there is no server.
        RefusedError: the server refuses the user, or the requested priority or weight.
        InvalidInput: the server schedules no programs.

    Attributes:
        environment: variables with which the program uses the server's MPS; empty where it has none.
    """

    def __init__(
        self, page: _core.ProgramPage, path: Path, trusted_uids: Sequence[int] | None, application: Mapping[str, Any]
    ) -> None:
        self._page = page
        self._where = path, PROGRAMS, trusted_uids
        self._application = dict(application)
        self._closed = threading.Event()
        self._lost = threading.Event()
        self._link = self._joined()
        threading.Thread(target=self._keep, name="gpushare run", daemon=True).start()

    def status(self) -> dict[str, Any] | None:
        """The server's data about the program; None without a server."""
        try:
            found = self._link.request("status", timeout_s=5)
        except (ConnectionError, InvalidInput, TimeoutError):
            return None
        name = self._application["name"]
        client = self._link.welcome["client"]
        own = (each for each in found["applications"] if each["client"] == client and each["name"].startswith(name))
        return next(own, None)

    def close(self) -> None:
        """Ends the scheduling of the program."""
        self._closed.set()
        self._lost.set()
        self._link.close()
        self._page.free_program()

    def _joined(self) -> Link:
        link = Link(*self._where, on_lost=lambda _: self._let_go())
        try:
            application = link.request("application", **self._application)
            attached = link.request("program", self._page.descriptor, application=application)
            self.environment = with_urgency(
                mps_variables(attached.get("environment")), self._application.get("priority") or 0
            )
        except BaseException:
            link.close()
            raise
        self._lost.clear()
        if link.lost is not None:  # the loss came before the page was cleared, so its handling had no effect
            self._lost.set()
        return link

    def _let_go(self) -> None:
        """Releases the program's held launches, which no server would release any more."""
        self._page.free_program()
        self._lost.set()

    def _keep(self) -> None:
        while True:
            self._lost.wait()
            if self._closed.wait(PAUSE_S):
                return
            try:
                self._link = self._joined()
                LOG.info("joined the server again")
            except Exception as error:  # any exception: the next server may accept it
                LOG.debug("no server to join: %s", error)
