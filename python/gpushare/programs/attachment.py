# SPDX-License-Identifier: Apache-2.0
"""A program's connection to the server that schedules it.

Where the server ends, the program goes on, free, and joins the next one.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gpushare import _core
from gpushare._core import InvalidInput
from gpushare.daemon.client.link import Link
from gpushare.daemon.settings import PROGRAMS

LOG = logging.getLogger("gpushare.programs")
PAUSE_S = 0.5
"""Between tries to join a server again."""


class Attachment:
    """From the first connection until it is closed.

    Args:
        page: of the program.
        path: of the server's socket.
        trusted_uids: users that the server may belong to; None: any.
        application: name, priority and weight, as the server takes them.

    Raises:
        DaemonGoneError: there is no server.
        RefusedError: the server refuses the user, or what is asked for.
        InvalidInput: the server schedules no programs.
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

    @property
    def is_attached(self) -> bool:
        """Whether a server schedules the program at present."""
        return not self._lost.is_set()

    def status(self) -> dict[str, Any] | None:
        """What the server knows of the program; None where there is no server."""
        try:
            found = self._link.request("status", timeout_s=5)
        except (ConnectionError, InvalidInput, TimeoutError):
            return None
        name = self._application["name"]
        client = self._link.welcome["client"]
        own = (each for each in found["applications"] if each["client"] == client and each["name"].startswith(name))
        return next(own, None)

    def close(self) -> None:
        """The program is not scheduled any more."""
        self._closed.set()
        self._lost.set()
        self._link.close()
        self._page.free_program()

    def _joined(self) -> Link:
        link = Link(*self._where, on_lost=lambda _: self._let_go())
        try:
            application = link.request("application", **self._application)
            link.request("program", self._page.descriptor, application=application)
        except BaseException:
            link.close()
            raise
        self._lost.clear()
        if link.lost is not None:  # before it was cleared, and said so in vain
            self._lost.set()
        return link

    def _let_go(self) -> None:
        """Without a server no one else would let a program go on that is held."""
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
            except Exception as error:  # of whatever kind: the next server may take it
                LOG.debug("no server to join: %s", error)
