# SPDX-License-Identifier: Apache-2.0
"""The worker process, which holds one GPU and ends if a kernel faults.

It serves the clients that the supervisor passes to it, and ends when the supervisor does, or when the GPU has failed.
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
from functools import partial
from typing import Any

from gpushare import _core
from gpushare._core import DeviceError, PolicyError
from gpushare.checks import MOST_BYTES
from gpushare.daemon.compiling.compilations import Compilations
from gpushare.daemon.errors import ProtocolError, RefusedError, as_message
from gpushare.daemon.protocol.grant import Grant, LoadReport
from gpushare.daemon.protocol.limits import MOST_MESSAGE_BYTES, MOST_SHARE_OF_HISTORIES
from gpushare.daemon.protocol.wire import Channel, close_all, unpacked
from gpushare.daemon.settings import Settings
from gpushare.daemon.worker.alone_times import AloneTimes
from gpushare.daemon.worker.history import History, look_at
from gpushare.daemon.worker.job_pools import JobPools
from gpushare.daemon.worker.limited_share import LimitedShare
from gpushare.daemon.worker.load_reports import keep_reporting
from gpushare.daemon.worker.memory_accounts import MemoryAccounts
from gpushare.daemon.worker.metrics import JobMetrics
from gpushare.daemon.worker.pinning import Pinning
from gpushare.daemon.worker.requests.handlers import HANDLERS
from gpushare.daemon.worker.served_client import ServedClient
from gpushare.files.schema import checked

LOG = logging.getLogger("gpushare.daemon.worker")
EXIT_FAULT = 71
"""Exit status after a failure: the GPU is unusable in this process, but usable in another one."""
TIME_TO_SAY_SO_S = 1.0
TIME_TO_BLAME_S = 1.0
"""Time for the session to notice a fault that a copy reports first, in seconds; only the session knows the jobs."""
LONGEST_WAIT_S = 3600.0

OpenSession = Callable[[str, Settings], Any]
"""Opens a session from a device, a policy, and an ordering."""


class Worker:
    """One session, and the clients that share it.

    Attributes:
        device: its name.
        session: the session of all clients.
        accounts: accounts of the device's memory.
        pinning: pins shared memory.
        history: snapshots of its status.
        job_metrics: counters for Prometheus.
        alone_times: runtimes alone, by which turnarounds are normalized.
        ports: the clients' rings, which a thread without Python serves.
        compilations: of all clients' kernels.
        handlers: what is done about each request.
        job_pools: places for jobs that a user's clients share.
        released: arrays that no job needs any more.
        opening: held while an application is opened and what it has been promised is noted.
    """

    def __init__(self, device: str, settings: Settings, open_session: OpenSession) -> None:
        self.device = device
        self.settings = settings
        self.session = open_session(device, settings)
        self.policy = settings.policy
        self.accounts = MemoryAccounts(_memory_of(self.session, settings), settings.memory_bytes_per_user)
        self.pinning = Pinning(self.session.device)
        self.history = History()
        self.job_metrics = JobMetrics()
        self.alone_times = AloneTimes(self.session)
        self.ports = _core.PortServer(self.session.sink)
        self.compilations = Compilations(settings)
        self.handlers = HANDLERS
        self.released = _core.ReleaseQueue()
        self.opening = threading.RLock()  # reentrant: releases within the block may need it
        self.started_s = time.time()
        self.job_pools = JobPools(settings)
        self._histories: dict[str, LimitedShare] = {}
        self._clients: dict[int, ServedClient] = {}
        self._next_client = 1
        self._taken = 0
        self._lock = threading.Lock()
        self._ending = threading.Lock()

    @property
    def clients(self) -> list[ServedClient]:
        """The connected clients."""
        with self._lock:
            return list(self._clients.values())

    def clients_of(self, user: str) -> list[ServedClient]:
        """The connected clients of this user."""
        return [each for each in self.clients if each.grant.user == user]

    def history_turn(self, client: ServedClient) -> AbstractContextManager[None]:
        """Waits for the limiter of histories: users have equal parts of the time; a user's clients are serialised."""
        users = {each.grant.user for each in self.clients} | {client.grant.user}
        pace = self._histories.setdefault(client.grant.user, LimitedShare())
        return pace.turn(MOST_SHARE_OF_HISTORIES / len(users), client.is_gone)

    def _load(self) -> LoadReport:
        """What the supervisor places clients by."""
        with self._lock:
            clients = sum(not each.grant.watches for each in self._clients.values())
            taken = self._taken
        return LoadReport(
            taken=taken, clients=clients, total_bytes=self.accounts.total_bytes, used_bytes=self.accounts.used_bytes
        )

    def serve(self, supervisor: socket.socket) -> None:
        """Accepts clients until the supervisor ends."""
        reporting = partial(keep_reporting, supervisor, self._load)
        threading.Thread(target=reporting, name="load", daemon=True).start()
        for work in (self._release, self._drop_gone, self._heed_session):
            threading.Thread(target=work, name=work.__name__, daemon=True).start()
        while True:
            try:
                data, descriptors, _, _ = socket.recv_fds(supervisor, MOST_MESSAGE_BYTES, 2, socket.MSG_CMSG_CLOEXEC)
            except ConnectionResetError:
                return
            if not data:
                close_all(descriptors)
                return
            self._take(data, descriptors)

    def _take(self, data: bytes, descriptors: list[int]) -> None:
        try:
            grant = checked(unpacked(data), Grant)
        except (ProtocolError, ValueError):
            LOG.exception("the supervisor's message is not a grant")
            close_all(descriptors)
            return
        if len(descriptors) < 1 + (grant.gpus > 1):  # it could not be received and is lost; its client connects again
            close_all(descriptors)
            LOG.error("%s has no descriptors left for another client", self.device)
            with self._lock:
                self._taken += not grant.watches  # the supervisor has counted it
            return
        connection, *board = descriptors
        channel = Channel(socket.socket(fileno=connection))
        try:
            client = self._added(channel, grant, board)
        except Exception as error:  # any exception: the other clients are not affected
            close_all(board)
            LOG.info("a client of user %s is refused: %s", grant.user, error, extra={"user": grant.user})
            _refuse(channel, grant, error)
            return
        try:
            threading.Thread(target=client.serve, name=f"client {client.number}", daemon=True).start()
        except RuntimeError as error:
            client.turn_away(RefusedError(f"{self.device} cannot take another client: {error}"))

    def _added(self, channel: Channel, grant: Grant, board: list[int]) -> ServedClient:
        with self._lock:
            self._taken += not grant.watches
            self._require_place(grant.user)
            try:
                client = ServedClient(self, self._next_client, channel, grant, board)
            except Exception as error:  # for example, no descriptors are left for its rings
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
        """Removes a client after its resources have been freed."""
        with self._lock:
            del self._clients[client.number]
            self.accounts.forget(client.number)
        if not self.clients_of(client.grant.user):
            self.compilations.forget(client.grant.user)

    def set_policy(self, policy: str) -> None:
        """Changes the session's policy.

        Raises:
            PolicyError: it has no priorities, and an application has one, perhaps before its first launch.
        """
        for client in self.clients:
            for application in list(client.applications):
                _core.require_priority(policy, application.name, application.priority)
        self.session.set_policy(policy)
        LOG.info("policy %s instead of %s", policy, self.policy)
        self.policy = policy
        self.history.looked(look_at(self))  # traces show the time of the change

    def _release(self) -> None:
        while True:
            self.released.release(LONGEST_WAIT_S)

    def _drop_gone(self) -> None:
        """Closes connections of clients that violate the rings' protocol or have closed them."""
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
        """Ends the worker when the session fails."""
        while True:
            try:
                self.session.raise_failure(LONGEST_WAIT_S)
            except Exception as error:
                return self.fail(error)

    def heed(self, error: Exception) -> bool:
        """Ends the worker if a request failed because the session has: further requests would fail, too.

        Returns:
            whether another thread is about to end it.
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
        """Sends every client the reason and ends the process; returns only in threads after the first.

        Args:
            error: the reason.
            culprit: the application that caused it, where the session cannot end its jobs.
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
        os._exit(EXIT_FAULT)  # no destructors: they would wait for a GPU that does not answer


def _refuse(channel: Channel, grant: Grant, error: Exception) -> None:
    with contextlib.suppress(OSError):  # it has gone already
        channel.send({"id": grant.hello, "error": as_message(error)})
    channel.release()


def is_healthy(session: Any) -> bool:
    """Whether its device can still be used; a simulated one always can."""
    return getattr(getattr(session.device, "core", None), "is_healthy", True)


def _memory_of(session: Any, settings: Settings) -> int:
    if settings.memory_bytes is not None:
        return settings.memory_bytes
    return session.device.description.memory_bytes or MOST_BYTES
