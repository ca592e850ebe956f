# SPDX-License-Identifier: Apache-2.0
"""The process that holds one GPU, and with it everything that a faulting kernel takes along.

It serves the clients that the supervisor hands over, and ends when the supervisor does, or when the GPU can do no more.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from gpushare import _core
from gpushare._core import DeviceError, PolicyError
from gpushare.daemon.compiling.compilations import Compilations
from gpushare.daemon.errors import ProtocolError, RefusedError, as_message
from gpushare.daemon.protocol.grant import Grant
from gpushare.daemon.protocol.limits import MOST_MESSAGE_BYTES, MOST_SHARE_OF_HISTORIES
from gpushare.daemon.protocol.wire import Channel, close_all, unpacked
from gpushare.daemon.settings import Settings
from gpushare.daemon.worker.alone_times import AloneTimes
from gpushare.daemon.worker.history import History, look_at
from gpushare.daemon.worker.job_pools import JobPools
from gpushare.daemon.worker.memory_accounts import MemoryAccounts
from gpushare.daemon.worker.pace import Pace
from gpushare.daemon.worker.pinning import Pinning
from gpushare.daemon.worker.served_client import ServedClient
from gpushare.files.toml_file import checked
from gpushare.model.kernel_model import MOST_BYTES

LOG = logging.getLogger("gpushare.daemon.worker.worker")
EXIT_FAULT = 71
"""The GPU is lost to the process; another one can use it."""
TIME_TO_SAY_SO_S = 1.0
TIME_TO_BLAME_S = 1.0
"""A request that copies may fail before the session has noticed the fault, and only the session knows who was there."""
LONGEST_WAIT_S = 3600.0

OpenSession = Callable[[str, str, str], Any]
"""Of a device, a policy, and an ordering."""


class Worker:
    """One session, and the clients that share it.

    Attributes:
        device: its name.
        session: of all clients.
        accounts: of the device's memory.
        pinning: of shared memory.
        history: looks at its status.
        alone_times: what turnarounds are normalized by.
        ports: the clients' rings, which a thread without Python serves.
        compilations: of all clients' kernels.
        job_pools: places for jobs that a user's clients share.
        released: arrays that no job needs any more.
        opening: held while an application is opened and what it has been promised is noted.
    """

    def __init__(self, device: str, settings: Settings, open_session: OpenSession) -> None:
        self.device = device
        self.settings = settings
        self.session = open_session(device, settings.policy, settings.ordering)
        self.policy = settings.policy
        self.accounts = MemoryAccounts(_memory_of(self.session, settings), settings.memory_bytes_per_user)
        self.pinning = Pinning(self.session.device)
        self.history = History()
        self.alone_times = AloneTimes(self.session.device)
        self.ports = _core.PortServer(self.session.sink)
        self.compilations = Compilations(settings)
        self.released = _core.ReleaseQueue()
        self.opening = threading.RLock()  # what is released in between may need it
        self.started_s = time.time()
        self.job_pools = JobPools(settings)
        self._histories: dict[str, Pace] = {}
        self._clients: dict[int, ServedClient] = {}
        self._next_client = 1
        self._lock = threading.Lock()
        self._ending = threading.Lock()

    @property
    def clients(self) -> list[ServedClient]:
        """Those that are connected."""
        with self._lock:
            return list(self._clients.values())

    def clients_of(self, user: str) -> list[ServedClient]:
        """Those of this user that are connected."""
        return [each for each in self.clients if each.grant.user == user]

    def history_turn(self, client: ServedClient) -> AbstractContextManager[None]:
        """Users have equal parts of what time there is for histories, and those of one user take turns."""
        users = {each.grant.user for each in self.clients} | {client.grant.user}
        pace = self._histories.setdefault(client.grant.user, Pace())
        return pace.turn(MOST_SHARE_OF_HISTORIES / len(users), client.is_gone)

    def serve(self, supervisor: socket.socket) -> None:
        """Takes clients until the supervisor ends."""
        for work in (self._release, self._drop_gone, self._heed_session):
            threading.Thread(target=work, name=work.__name__, daemon=True).start()
        while True:
            try:
                data, descriptors, _, _ = socket.recv_fds(supervisor, MOST_MESSAGE_BYTES, 1, socket.MSG_CMSG_CLOEXEC)
            except ConnectionResetError:
                return
            if not data:
                close_all(descriptors)
                return
            self._take(data, descriptors)

    def _take(self, data: bytes, descriptors: list[int]) -> None:
        if not descriptors:  # so it could not be received, and is lost: whoever it was of connects again
            LOG.error("%s has no descriptors left for another client", self.device)
            return
        channel = Channel(socket.socket(fileno=descriptors.pop()))
        try:
            grant = checked(unpacked(data), Grant)
        except (ProtocolError, ValueError):
            LOG.exception("the supervisor says what is no grant")
            return
        try:
            client = self._added(channel, grant)
        except Exception as error:  # of whatever kind: the other clients go on
            LOG.info("a client of user %s is refused: %s", grant.user, error, extra={"user": grant.user})
            _refuse(channel, grant, error)
            return
        try:
            threading.Thread(target=client.serve, name=f"client {client.number}", daemon=True).start()
        except RuntimeError as error:
            client.turn_away(RefusedError(f"{self.device} cannot take another client: {error}"))

    def _added(self, channel: Channel, grant: Grant) -> ServedClient:
        with self._lock:
            self._require_place(grant.user)
            try:
                client = ServedClient(self, self._next_client, channel, grant)
            except Exception as error:  # for one, there are no descriptors for its rings
                raise RefusedError(f"{self.device} cannot take another client: {error}") from error
            self._clients[self._next_client] = client
            self.accounts.admit(client.number, grant.user)
            self._next_client += 1
            return client

    def _require_place(self, user: str) -> None:
        if len(self._clients) >= self.settings.clients:
            raise RefusedError(
                f"{self.device} has {len(self._clients)} clients already: the server's configuration says clients"
            )
        own = sum(each.grant.user == user for each in self._clients.values())
        if own >= self.settings.clients_per_user:
            raise RefusedError(
                f"{self.device} has {own} clients of user {user} already: the server's configuration says "
                "clients_per_user"
            )

    def forget(self, client: ServedClient) -> None:
        """It is gone, and nothing of it is left."""
        with self._lock:
            del self._clients[client.number]
            self.accounts.forget(client.number)
        if not self.clients_of(client.grant.user):
            self.compilations.forget(client.grant.user)

    def set_policy(self, policy: str) -> None:
        """Of the session, from now on.

        Raises:
            PolicyError: it has no use for the priority of an application, perhaps one that has not arrived yet.
        """
        for client in self.clients:
            for application in list(client.applications):
                _core.require_priority(policy, application.name, application.priority)
        self.session.set_policy(policy)
        LOG.info("policy %s instead of %s", policy, self.policy)
        self.policy = policy
        self.history.looked(look_at(self))  # traces say when

    def _release(self) -> None:
        while True:
            self.released.release(LONGEST_WAIT_S)

    def _drop_gone(self) -> None:
        """Whoever breaks the rings' protocol, or lets go of them, has no use for the rest of its connection."""
        while True:
            gone = self.ports.wait_gone(LONGEST_WAIT_S)
            if gone is not None:
                self._drop(*gone)

    def _drop(self, number: int, why: str) -> None:
        for client in self.clients:
            if client.port_number == number:
                LOG.info("client %d: %s", client.number, why, extra={"user": client.grant.user})
                client.drop(why)

    def _heed_session(self) -> None:
        """What the session fails with ends the worker: it serves nobody any more."""
        while True:
            try:
                self.session.raise_failure(LONGEST_WAIT_S)
            except Exception as error:
                return self.fail(error)

    def heed(self, error: Exception) -> bool:
        """Ends the worker if a request failed because the session has: then every other one would, too.

        Returns:
            whether it ends, if another thread is about to do that.
        """
        if not isinstance(error, DeviceError | PolicyError):
            return False
        try:
            self.session.status()
            if is_healthy(self.session):
                return False
            self.session.raise_failure(TIME_TO_BLAME_S)
        except (DeviceError, PolicyError) as failure:
            error = failure
        self.fail(error)
        return True

    def fail(self, error: Exception, culprit: str | None = None) -> None:
        """Tells every client why, and ends the process. Never returns but to those who come second.

        Args:
            error: what it ends with.
            culprit: the application to blame, where the session cannot tell its jobs.
        """
        if not self._ending.acquire(blocking=False):
            return
        LOG.error("the worker of %s ends: %s", self.device, error)
        telling = [threading.Thread(target=each.lost, args=[error, culprit], daemon=True) for each in self.clients]
        for thread in telling:
            thread.start()
        deadline = time.monotonic() + TIME_TO_SAY_SO_S
        for thread in telling:
            thread.join(max(deadline - time.monotonic(), 0))
        os._exit(EXIT_FAULT)  # no destructor: they would wait for a GPU that does not answer


def _refuse(channel: Channel, grant: Grant, error: Exception) -> None:
    with contextlib.suppress(OSError):  # it has gone already
        channel.send({"id": grant.hello, "error": as_message(error)})
    channel.release()


def is_healthy(session: Any) -> bool:
    """Can its device still be used? A simulated one always can."""
    return getattr(getattr(session.device, "core", None), "is_healthy", True)


def _memory_of(session: Any, settings: Settings) -> int:
    if settings.memory_bytes is not None:
        return settings.memory_bytes
    return session.device.description.memory_bytes or MOST_BYTES
