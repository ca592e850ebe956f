# SPDX-License-Identifier: Apache-2.0
"""The server's first process: it owns the socket, checks connections, and keeps one worker per device running.

It does not use CUDA, and reads only a client's first message; all later ones go directly to the worker.
"""

from __future__ import annotations

import contextlib
import logging
import os
import select
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from gpushare._core import InvalidInput
from gpushare.daemon.errors import DaemonGoneError, ProtocolError, RefusedError, as_message
from gpushare.daemon.protocol.grant import Grant
from gpushare.daemon.protocol.limits import (
    HELLO_TIMEOUT_S,
    MOST_GREETINGS,
    MOST_GREETINGS_OF_USER,
    MOST_WAITING_CONNECTIONS,
)
from gpushare.daemon.protocol.messages import Hello, hello_in, number_of
from gpushare.daemon.protocol.peer import Peer, peer_of
from gpushare.daemon.protocol.wire import Channel, Message, close_all, packed
from gpushare.daemon.served_devices import VISIBLE, among_gpus, gpu_of, in_group, is_programs
from gpushare.daemon.settings import Rights, Settings, rights_of
from gpushare.daemon.supervisor.gangs import Gangs
from gpushare.daemon.supervisor.listener import Listener
from gpushare.daemon.supervisor.mps import Mps
from gpushare.daemon.supervisor.places_by_user import PlacesByUser
from gpushare.daemon.supervisor.placing import chosen_worker, worker_of_gpu
from gpushare.daemon.supervisor.while_used import WhileUsed
from gpushare.daemon.supervisor.worker_process import WorkerProcess

LOG = logging.getLogger("gpushare.daemon.supervisor")


class Supervisor:
    """The supervisor, which serves until it is closed.

    Args:
        settings: permissions and devices.
        path: path of the socket.
        log_json: whether workers log JSON.
        worker_command: the command that starts a worker; the descriptor of its socket is appended.
        find_peer: returns the peer of a connection.
        on_unused: called once its last client has ended; None: it goes on.
    """

    def __init__(
        self,
        settings: Settings,
        path: Path,
        *,
        log_json: bool = False,
        worker_command: Sequence[str] | None = None,
        find_peer: Callable[[socket.socket], Peer] = peer_of,
        on_unused: Callable[[], None] | None = None,
    ) -> None:
        self._settings = settings
        self._find_peer = find_peer
        self._greetings = PlacesByUser(MOST_GREETINGS, MOST_GREETINGS_OF_USER)
        self._waiting = threading.BoundedSemaphore(MOST_WAITING_CONNECTIONS)
        self._listener = Listener(path, settings.group)
        self._mps: Mps | None = None
        try:
            if settings.mps:
                self._mps = Mps(path)
            self._workers = {
                device: WorkerProcess(device, settings, log_json, worker_command) for device in settings.devices
            }
        except BaseException:
            self._listener.close()
            if self._mps is not None:
                self._mps.close()
            raise
        self._gangs = Gangs()
        self._placing = threading.Lock()
        self._closed = False
        self._use = None if on_unused is None else WhileUsed(on_unused)

    @property
    def workers(self) -> dict[str, WorkerProcess]:
        """The workers by device."""
        return self._workers

    def start(self) -> None:
        """Starts the workers.

        Raises:
            InvalidInput: a device cannot be opened.
        """
        for worker in self._workers.values():
            worker.start()

    def serve(self) -> None:
        """Serves until :meth:`close` is called, in another thread or by a signal."""
        LOG.info("serving %s at %s", ", ".join(self._workers), self._listener.path)
        while not self._closed:
            try:
                connection, _ = self._listener.socket.accept()
            except OSError as error:
                if self._closed:
                    return
                LOG.warning("a connection cannot be taken: %s", error)  # for example at the limit of open files
                time.sleep(0.1)
                continue
            self._take(connection)

    def _take(self, connection: socket.socket) -> None:
        try:
            peer = self._find_peer(connection)
        except OSError as error:
            LOG.info("a connection ended during its setup: %s", error)
            return connection.close()
        if not self._greetings.take(peer.uid):
            return connection.close()
        try:
            threading.Thread(target=self._greet, args=[connection, peer], daemon=True).start()
        except RuntimeError as error:
            LOG.warning("a connection cannot be taken: %s", error)
            self._greetings.give_back(peer.uid)
            connection.close()

    def close(self) -> None:
        """Ends the workers, and with them the clients' connections; removes the socket."""
        self._closed = True
        self._listener.close()
        for worker in self._workers.values():
            worker.close()
        if self._mps is not None:
            self._mps.close()
        self._gangs.close()

    def _greet(self, connection: socket.socket, peer: Peer) -> None:
        """Reads the first message, and passes the connection to a worker or sends the reason for a refusal."""
        number = 0
        channel = Channel(connection)
        try:
            message = self._heard(connection, channel, peer)
            number = number_of(message)
            hello = hello_in(message)
            rights = rights_of(peer, self._settings, os.getuid())
            self._hand_over(connection, number, hello, peer, rights)
        except (ProtocolError, InvalidInput, RefusedError) as error:
            LOG.warning("a connection was refused: %s", error)
            _refuse(channel, number, error)
        except DaemonGoneError as error:  # the worker's keeper logs it once, and clients may repeat their requests
            LOG.debug("a connection was refused: %s", error)
            _refuse(channel, number, error)
        except (EOFError, OSError, RuntimeError) as error:  # RuntimeError: no further thread can be started
            LOG.info("a connection ended during its setup: %s", error)
        finally:
            connection.close()  # this process's copy

    def _environment_for(self, peer: Peer, device: str) -> dict[str, str]:
        """Of its programs. An MPS serves one user at a time."""
        environment = dict(self._mps.environment) if self._mps is not None and peer.uid == os.getuid() else {}
        gpu = gpu_of(device) if is_programs(device) else None
        return environment if gpu is None else {**environment, VISIBLE: gpu}

    def _heard(self, connection: socket.socket, channel: Channel, peer: Peer) -> Message:
        """The first message; afterwards the connection no longer counts as silent."""
        heard, ready = threading.Event(), select.poll()
        ready.register(connection, select.POLLIN)
        try:
            threading.Thread(target=_drop_if_silent, args=[ready, channel, heard], daemon=True).start()
            message, descriptors = channel.receive()
        finally:
            heard.set()
            self._greetings.give_back(peer.uid)
        close_all(descriptors)
        return message

    def _hand_over(self, connection: socket.socket, number: int, hello: Hello, peer: Peer, rights: Rights) -> None:
        """Waits for a worker to be started; after a loss, all its clients do so at once."""
        if not self._waiting.acquire(blocking=False):
            raise OSError(f"{MOST_WAITING_CONNECTIONS} connections wait for a worker already")
        try:
            worker, gpus = self._placed(hello)
            try:
                board = [self._gangs.board_of(peer.pid).descriptor] if gpus > 1 else []
                environment = self._environment_for(peer, worker.device)
                grant = packed_grant(number, hello, peer, rights, environment, list(self._workers), gpus)
            except BaseException:
                worker.expect(-(not hello.watches))
                raise
            worker.hand_over(connection, grant, board, is_expected=not hello.watches)
            if self._use is not None:
                self._use.add(connection)
        finally:
            self._waiting.release()

    def _placed(self, hello: Hello) -> tuple[WorkerProcess, int]:
        """The worker for this client, which is expected there from now on unless it only watches.

        Returns:
            besides, the number of GPUs that a program is on.
        """
        names = in_group(hello.device, list(self._workers))
        if not names:
            raise InvalidInput(f"this server has no device {hello.device!r}; it has: {', '.join(self._workers)}")
        if is_programs(names[0]):
            names = among_gpus(hello.gpus, names, hello.gpus_of_container)
        workers = [self._workers[name] for name in names]
        if hello.watches:
            return next((each for each in workers if each.is_usable), workers[0]), 1
        if hello.gpu is not None:
            worker, gpus = worker_of_gpu(workers, hello.gpu), len(workers)
            worker.expect()
            return worker, gpus
        with self._placing:  # one after the other, so that each counts for the next
            worker = chosen_worker(self._settings.place, workers, hello.memory_bytes)
            worker.expect()
        return worker, 1


def _drop_if_silent(ready: select.poll, channel: Channel, heard: threading.Event) -> None:
    """A message that has arrived unread does not count as silence: this process may lack processor time."""
    while not heard.wait(HELLO_TIMEOUT_S):
        if not ready.poll(0):
            channel.close()
            return


def packed_grant(
    number: int,
    hello: Hello,
    peer: Peer,
    rights: Rights,
    program_environment: Mapping[str, str] | None = None,
    devices: Sequence[str] = (),
    gpus: int = 1,
) -> bytes:
    """The grant as a worker reads it: a map in msgpack."""
    grant = Grant(
        hello=number,
        name=hello.name,
        pid=peer.pid,
        user=peer.user,
        highest_priority=rights.highest_priority,
        highest_min_speed=rights.highest_min_speed,
        weight=rights.weight,
        memory_bytes=rights.memory_bytes,
        is_operator=rights.is_operator,
        may_compile=rights.may_compile,
        program_environment=dict(program_environment or {}),
        devices=list(devices),
        watches=hello.watches,
        gpu=hello.gpu or 0,
        gpus=gpus,
    )
    return packed(grant.model_dump())[4:]


def _refuse(channel: Channel, number: int, error: Exception) -> None:
    with contextlib.suppress(OSError):  # the client has gone already
        channel.send({"id": number, "error": as_message(error)})
