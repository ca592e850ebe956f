# SPDX-License-Identifier: Apache-2.0
"""The worker's side of a client: one thread reads its requests and answers, tables hold its objects.

Launches come through its port, without this thread and without Python.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gpushare import _core
from gpushare._core import InvalidInput
from gpushare.daemon.errors import ProtocolError, RefusedError, WorkerLostError, as_message
from gpushare.daemon.protocol.arena import Arena
from gpushare.daemon.protocol.grant import Grant
from gpushare.daemon.protocol.limits import MOST_ARENAS, MOST_WAITING_REQUESTS, PROTOCOL_VERSION
from gpushare.daemon.protocol.messages import number_of, request_in, require_version
from gpushare.daemon.protocol.wire import Channel, Message, close_all
from gpushare.daemon.worker.application_table import ApplicationTable
from gpushare.daemon.worker.handle_table import HandleTable
from gpushare.daemon.worker.metrics import look_before_end
from gpushare.daemon.worker.served_array import ServedArray
from gpushare.daemon.worker.served_kernels import ServedKernels

if TYPE_CHECKING:
    from gpushare.daemon.worker.worker import Worker

LOG = logging.getLogger("gpushare.daemon.worker.served_client")
LONGEST_WAIT_S = 3600.0


class ServedClient:
    """A connection and all objects of its client.

    Attributes:
        number: unique within this worker.
        grant: identity and permissions.
        port: its rings.
        kernels: its registered kernels.
        bytes_of_variables: bytes of its kernels' variables in device memory.
        code: its kernels' variables, and the kernels that use them; None on a simulated device.
        programs: its applications that are programs, as they are scheduled.
        gang: of a program on several GPUs: descriptor of the memory that their schedulers map, number of this GPU, and
            how many these are.
    """

    def __init__(self, worker: Worker, number: int, channel: Channel, grant: Grant, board: Sequence[int] = ()) -> None:
        self.worker = worker
        self.number = number
        self.channel = channel
        self.grant = grant
        self.applications = ApplicationTable()
        self.kernels = ServedKernels(self)
        self.arrays: HandleTable[ServedArray] = HandleTable("array")
        self.arenas: HandleTable[Arena] = HandleTable("arena", MOST_ARENAS)
        self._job_pool = worker.job_pools.of(grant.user)
        self.port, *self._ends = worker.ports.add(worker.job_pools.limits(self._job_pool))
        self.port_number = self.port.client
        self.is_gone = threading.Event()
        self._may_wait = threading.BoundedSemaphore(MOST_WAITING_REQUESTS)
        self.connected_s = time.time()
        self.bytes_of_variables = 0
        self.code = worker.session.new_code(self._take_variables)
        self.programs: list[_core.ProgramPort] = []
        self.gang = (board[0], grant.gpu, grant.gpus) if board else None

    @property
    def suffix(self) -> str:
        """The suffix of its applications' names in the session."""
        return f"@{self.number}"

    def serve(self) -> None:
        """Answers until the client ends, sends an invalid message, or does not read."""
        why = "has ended"
        try:
            self._welcome()
            while True:
                self._answer(*self.channel.receive())
        except EOFError:
            pass
        except (ProtocolError, OSError) as error:
            why = f"was dropped: {error}"
            self._tell({"event": "dropped", "error": as_message(error)})
        finally:
            self._leave(why)

    def turn_away(self, error: Exception) -> None:
        """Sends only this error and closes."""
        self.refuse(self.grant.hello, error)
        self.close_ends()
        self._leave(f"was turned away: {error}")

    def answer_with(self, number: int, ask: Callable[[], Any]) -> None:
        """Answers this request with the result or error of ``ask``; None means that the answer comes later."""
        try:
            answer = ask()
        except ProtocolError:
            raise
        except Exception as error:
            LOG.debug("client %d: %s", self.number, error)
            if not self.worker.heed(error):  # otherwise the session has failed, and every client receives the reason
                self.refuse(number, error)
        else:
            if answer is not None:
                self.reply(number, answer)

    def answer_later(self, answer: Callable[[], None]) -> None:
        """Answers in a separate thread, which may wait, so that the client can make other requests meanwhile.

        Raises:
            InvalidInput: the client has too many waiting requests.
        """
        if not self._may_wait.acquire(blocking=False):
            raise InvalidInput(
                f"{MOST_WAITING_REQUESTS} requests of this client for arrays and histories are waiting already"
            )
        try:
            threading.Thread(target=self._wait_and_answer, args=[answer], daemon=True).start()
        except BaseException:
            self._may_wait.release()
            raise

    def _wait_and_answer(self, answer: Callable[[], None]) -> None:
        try:
            answer()
        finally:
            self._may_wait.release()

    def reply(self, number: int, answer: Any, descriptors: Sequence[int] = ()) -> None:
        """Sends an answer; does nothing if the client has gone."""
        try:
            self._tell({"id": number, "ok": answer}, descriptors)
        except ProtocolError as error:
            self.refuse(number, InvalidInput(f"the answer is too large: {error}"))

    def reply_in_file(self, number: int, content: bytes) -> None:
        """Sends an answer that may be too large for a message in a shared file."""
        arena = Arena.made(len(content))
        try:
            arena.view[: len(content)] = content
            self.reply(number, len(content), [arena.descriptor])
        finally:
            arena.close()

    def refuse(self, number: int, error: BaseException) -> None:
        """Sends an error as the answer."""
        self._tell({"id": number, "error": as_message(error)})

    def lost(self, error: Exception, culprit: str | None = None) -> None:
        """Tells the client that the worker ends. The ends of its jobs have been sent through the rings.

        Where they could not be sent, jobs of the ``culprit`` are taken as failed, if that is an application of this
        client.
        """
        again = WorkerLostError(f"the worker has ended, and its arrays and jobs are lost: {error}; submit again")
        event: Message = {"event": "lost", "error": as_message(again), "failure": as_message(error)}
        if culprit is not None and culprit.endswith(self.suffix):
            event["culprit"] = culprit.removesuffix(self.suffix)
        self._tell(event)

    def drop(self, why: str) -> None:
        """Closes its connection."""
        self._tell({"event": "dropped", "error": as_message(ProtocolError(why))})
        self.channel.close()

    def forget_cancelled(self) -> None:
        """Removes cancelled applications that have ended."""
        for ended in self.applications.forget_cancelled():
            self.worker.job_metrics.closed(ended.name)

    def require_operator(self) -> None:
        """Raises RefusedError unless it may change settings of other clients."""
        if not self.grant.is_operator:
            raise RefusedError(
                f"user {self.grant.user} is not among the server's 'operators', which this request needs"
            )

    def _welcome(self) -> None:
        welcome = {
            "v": PROTOCOL_VERSION,
            "client": self.number,
            "device": self.worker.device,
            "devices": self.grant.devices,
            "policy": self.worker.policy,
            "highest_priority": self.grant.highest_priority,
            "memory_bytes": self.grant.memory_bytes,
        }
        try:
            self.reply(self.grant.hello, welcome, self._ends)  # the ring's memory and its eventfd
        finally:
            self.close_ends()
        self._log("client %d: process %d of user %s", self.number, self.grant.pid, self.grant.user)

    def _take_variables(self, amount: int) -> None:
        """Counts variables like arrays, but without waiting.

        Raises:
            InvalidInput: there is not enough memory.
        """
        accounts = self.worker.accounts
        try:
            ticket = accounts.take(self.number, amount, self.grant.memory_bytes)
        except InvalidInput as error:
            raise InvalidInput(f"the variables of this kernel's source, which count as arrays do: {error}") from None
        if ticket is not None:
            accounts.leave(ticket)
            raise InvalidInput(
                f"the variables of this kernel's source take {amount} bytes of device memory, and of "
                f"{accounts.total_bytes} there are {accounts.used_bytes} in use: free arrays, or try again later"
            )
        self.bytes_of_variables += amount

    def _give_back_variables(self) -> None:
        if self.code is not None:
            self.code.clear()
        if self.bytes_of_variables > 0:
            self.worker.accounts.give_back(self.number, self.bytes_of_variables)
            self.bytes_of_variables = 0

    def close_ends(self) -> None:
        """Closes the client's descriptors here: while they are open, the client's own close has no effect."""
        close_all(self._ends)
        self._ends = []

    def _answer(self, message: Message, descriptors: list[int]) -> None:
        number = number_of(message)
        require_version(message)

        def ask() -> Any:
            verb, request = request_in(message)
            return self.worker.handlers[verb](self, request, number, descriptors)

        try:
            self.answer_with(number, ask)
        finally:
            close_all(descriptors)

    def _tell(self, message: Message, descriptors: Sequence[int] = ()) -> None:
        try:
            self.channel.send(message, descriptors)
        except ProtocolError:
            raise
        except OSError as error:  # the receiving thread detects it too, and removes the client
            LOG.debug("client %d cannot be notified: %s", self.number, error)

    def _leave(self, why: str) -> None:
        """Stops its work at the next block boundary, and then frees its memory."""
        self.is_gone.set()
        self.channel.close()
        self.worker.accounts.wake()
        for program in self.programs:
            program.close()
        self.programs.clear()
        close_all([self.gang[0]] if self.gang else [])
        if len(self.applications) > 0:
            look_before_end(self.worker)
        self.worker.ports.remove(self.port_number)  # this withdraws its applications
        self.port.remove_arrays()
        while not self.port.wait_idle(LONGEST_WAIT_S):
            pass  # the watchdog ends blocks that do not end
        for arena in self.arenas:
            arena.close()
        self.channel.release()
        for application in self.applications:
            self.worker.job_metrics.closed(application.name)
        self.applications.clear()
        self.kernels.clear()
        self._give_back_variables()
        self.worker.forget(self)
        del self.port  # frees its memory now, not when the last reference to this client is dropped
        self._log("client %d %s", self.number, why)

    def _log(self, words: str, *given: object) -> None:
        LOG.info(words, *given, extra={"user": self.grant.user})


def descriptor_in(descriptors: list[int]) -> int:
    """The one descriptor that the message must have; the caller has to close it."""
    if len(descriptors) != 1:
        raise InvalidInput(f"this request needs one descriptor beside it, got {len(descriptors)}")
    return descriptors.pop()
