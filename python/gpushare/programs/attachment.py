# SPDX-License-Identifier: Apache-2.0
"""A program's connection to the server that schedules it.

If the server ends, the program continues without scheduling, and joins the next server.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from itertools import takewhile
from pathlib import Path
from typing import Any

from gpushare import _core
from gpushare._core import InvalidInput
from gpushare.checks import number
from gpushare.daemon.client.greeting import Wish
from gpushare.daemon.client.link import Link
from gpushare.daemon.served_devices import OF_CONTAINER, VISIBLE
from gpushare.daemon.settings import PROGRAMS

LOG = logging.getLogger("gpushare.programs")
MPS_VARIABLES = ("CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY")
PAUSE_S = 0.5
"""Interval between attempts to join a server again, in seconds."""


def permitted_variables(said: object) -> dict[str, str]:
    """Of what a server asks to be set, the variables of MPS and the GPU: others could change what the program does.

    >>> permitted_variables({"CUDA_MPS_PIPE_DIRECTORY": "/run/a.mps/pipe", "LD_PRELOAD": "/tmp/b.so"})
    {'CUDA_MPS_PIPE_DIRECTORY': '/run/a.mps/pipe'}
    """
    pairs = said.items() if isinstance(said, Mapping) else ()
    return {name: value for name, value in pairs if isinstance(value, str) and name in (*MPS_VARIABLES, VISIBLE)}


def with_share(variables: Mapping[str, str], share: float | None) -> dict[str, str]:
    """The variables of a program that may use this share of the SMs.

    Raises:
        InvalidInput: there is a share, and no MPS to keep it; or it is no share.

    >>> with_share({"CUDA_MPS_PIPE_DIRECTORY": "/run/a.mps/pipe"}, 0.3)["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"]
    '30'
    """
    if share is None:
        return dict(variables)
    if MPS_VARIABLES[0] not in variables:
        raise InvalidInput(f"--sms {share:g}: the server has no MPS for this user; start it with gpushare serve --mps")
    percentage = round(100 * number("--sms", share, 0.01, 1))
    return {**variables, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": str(percentage)}


def with_urgency(variables: Mapping[str, str], priority: int) -> dict[str, str]:
    """The variables of a program of this priority: under MPS, blocks of programs with a positive one go first.

    MPS has two classes of programs, which are set when a program starts.

    >>> with_urgency({"CUDA_MPS_PIPE_DIRECTORY": "/run/a.mps/pipe"}, 0)["CUDA_MPS_CLIENT_PRIORITY"]
    '1'
    >>> with_urgency({}, 0)
    {}
    """
    has_mps = MPS_VARIABLES[0] in variables
    return {**variables, "CUDA_MPS_CLIENT_PRIORITY": "0" if priority > 0 else "1"} if has_mps else dict(variables)


def own_gpus(variables: Mapping[str, str]) -> tuple[str | None, str | None]:
    """The GPUs that a program may use: CUDA_VISIBLE_DEVICES up to a -1, and those of its container; None: all.

    Numbers in the first count among the second.

    >>> own_gpus({"CUDA_VISIBLE_DEVICES": "1, 0,-1,2"}), own_gpus({"CUDA_VISIBLE_DEVICES": "-1"}), own_gpus({})
    (('1, 0', None), ('', None), (None, None))
    >>> own_gpus({"NVIDIA_VISIBLE_DEVICES": "GPU-5a", "CUDA_VISIBLE_DEVICES": "0"})
    ('0', 'GPU-5a')
    >>> own_gpus({"NVIDIA_VISIBLE_DEVICES": "all"})
    (None, None)
    """
    said = variables.get(VISIBLE)
    visible = None if said is None else ",".join(takewhile(lambda each: each.strip() != "-1", said.split(",")))
    of_container = variables.get(OF_CONTAINER, "")
    return visible, of_container if of_container.startswith("GPU-") else None


class Attachment:
    """A connection, from the first attempt until it is closed.

    Args:
        page: the program's shared page.
        path: path of the server's socket.
        trusted_uids: users that are trusted as owners of the server; None: all.
        application: name, priority and weight, as the server takes them.
        gpu: None: the server chooses a GPU for the program; or the number of one of those that it may use, all of which
            it keeps.

    Raises:
        DaemonGoneError: there is no server.
        RefusedError: the server refuses the user, or the requested priority or weight.
        InvalidInput: the server schedules no programs.

    Attributes:
        environment: variables with which the program uses the GPU that the server has chosen among those that it may
            use, and the server's MPS; empty where there is one GPU, and no MPS.
        gpus: on how many GPUs the program is to be scheduled.
    """

    def __init__(
        self,
        page: _core.ProgramPage,
        path: Path,
        trusted_uids: Sequence[int] | None,
        application: Mapping[str, Any],
        gpu: int | None = None,
    ) -> None:
        self._page = page
        self._where = path, trusted_uids
        self._gpu = gpu
        self._gpus, self._of_container = own_gpus(os.environ)
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
        path, trusted_uids = self._where
        link = Link(
            path,
            Wish(PROGRAMS, gpus=self._gpus, gpus_of_container=self._of_container, gpu=self._gpu),
            trusted_uids,
            on_lost=lambda _: self._let_go(),
        )
        try:
            application = link.request("application", **self._application)
            attached = link.request("program", self._page.descriptor, application=application)
            self.environment = with_urgency(
                permitted_variables(attached.get("environment")), self._application.get("priority") or 0
            )
            self.gpus: int = attached["gpus"]
            if self._gpus == "" or self._gpu is not None:  # it is to have no GPU, or keeps its own
                self.environment.pop(VISIBLE, None)
            self._gpus = self.environment.get(VISIBLE, self._gpus)  # it stays there, also with the next server
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


@contextmanager
def attached(
    page: _core.ProgramPage,
    path: Path,
    trusted_uids: Sequence[int] | None,
    application: Mapping[str, Any],
    *,
    to_all_gpus: bool = False,
) -> Iterator[list[Attachment]]:
    """The program's connections: to the GPU that the server chooses, or to each that the program may use.

    Args:
        page: the program's shared page.
        path: path of the server's socket.
        trusted_uids: users that are trusted as owners of the server; None: all.
        application: name, priority and weight, as the server takes them.
        to_all_gpus: it keeps all of them, and is scheduled on all.

    Raises:
        InvalidInput: as for :class:`Attachment`, as are the other errors; none of the connections stays.
    """
    with ExitStack() as ends:
        first = ends.enter_context(
            closing(Attachment(page, path, trusted_uids, application, 0 if to_all_gpus else None))
        )
        others = (Attachment(page, path, trusted_uids, application, gpu) for gpu in range(1, first.gpus))
        yield [first, *(ends.enter_context(closing(each)) for each in others)]
