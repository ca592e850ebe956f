# SPDX-License-Identifier: Apache-2.0
"""Applications of a client of the server."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from gpushare._core import Cancelled, InvalidInput
from gpushare.arguments.launch_geometry import Extent
from gpushare.checks import whole
from gpushare.daemon.client.job import DaemonJob
from gpushare.daemon.errors import DaemonGoneError, RefusedError
from gpushare.kernels.kernel import Kernel
from gpushare.model.kernel_model import KernelModel
from gpushare.model.operation import Launch
from gpushare.model.service_level import Terms
from gpushare.model.workload import PRIORITIES
from gpushare.session.submission_forms import launched

if TYPE_CHECKING:
    from gpushare.daemon.client.array import DaemonArray
    from gpushare.daemon.client.registrations import Registered
    from gpushare.daemon.client.session import DaemonSession


class DaemonApplication:
    """An application: its launches run one after the other. Made by the session's ``application``.

    Attributes:
        name: unique within the session; the server appends the client's number.
    """

    def __init__(self, session: DaemonSession, name: str, priority: int, terms: Terms) -> None:
        self.name = name
        self._priority = priority
        self.terms = terms
        self._session = session
        self._cancelled = False

    @property
    def priority(self) -> int:
        """The priority; larger is more urgent, for policies with priorities."""
        return self._priority

    @property
    def device(self) -> int:
        """The number of its device among those of the session, which has one."""
        return 0

    def array(self, values: Any, *, durable: bool = False, shared: bool = False) -> DaemonArray:
        """A copy of host values, as of the session."""
        return self._session.array(values, durable=durable, shared=shared)

    def zeros(
        self, shape: int | tuple[int, ...], dtype: Any = np.float32, *, durable: bool = False, shared: bool = False
    ) -> DaemonArray:
        """Zeroed memory, as of the session."""
        return self._session.zeros(shape, dtype, durable=durable, shared=shared)

    def variable(self, kernel: Kernel, name: str, dtype: Any = None, shape: Any = None) -> DaemonArray:
        """A variable of the kernel's source, as of the session."""
        return self._session.variable(kernel, name, dtype, shape)

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of the request that registers it."""
        terms = {name: float(value) for name, value in self.terms.given.items()}
        return {"name": self.name, "priority": self.priority} | terms

    def submit(
        self,
        kernel: Kernel | KernelModel | Launch,
        blocks: int | None = None,
        *,
        grid: int | Extent | None = None,
        block: int | Extent | None = None,
        args: Sequence[Any] = (),
        shared_bytes: int = 0,
        after: Any = (),
        spread: bool = False,
        idempotent: bool = False,
    ) -> DaemonJob:
        """Submits a launch and returns at once.

        Args:
            kernel: a Kernel; on a simulated device one with a profile, such as those of the suite, or a KernelModel.
                Or a Launch, which has all but arguments in device memory.
            blocks: thread blocks of a KernelModel, instead of a grid and a block.
            grid: blocks, an int or up to three, x first.
            block: threads per block, an int or up to three, x first.
            args: one per parameter: arrays of this session for pointers, numbers for values.
            shared_bytes: dynamic shared memory per block.
            idempotent: the launch may be repeated, and is if the worker ends before the launch does and all its arrays
                are durable.
            after: nothing: only jobs of a session in this process can wait for something else.
            spread: False: only a session in this process has several GPUs.

        Raises:
            InvalidInput: an argument, the grid or the block is not valid; the message names it.
            Cancelled: the application has been cancelled.
            WorkerLostError: an array was lost with its worker.
            DaemonGoneError: the server has ended.
        """
        if self._cancelled:
            raise Cancelled(f"application {self.name!r} has been cancelled")
        if not isinstance(after, list | tuple) or after:
            raise InvalidInput(
                "after= is for jobs of a session in this process: for a job of a server, wait first, "
                "for example by result() or torch.cuda.synchronize()"
            )
        if spread is not False:
            raise InvalidInput(f"spread={spread!r} is for sessions in this process: a client of a server has one GPU")
        parts = launched(kernel, blocks, grid, block, args, shared_bytes)
        return self._session._submit(self, parts, idempotent)

    def set_priority(self, priority: int) -> None:
        """Changes the priority, also while launches run.

        Raises:
            RefusedError: the server's configuration does not permit this priority.
            PolicyError: the server's policy has no priorities.
        """
        priority = whole(f"application {self.name!r}: priority", priority, *PRIORITIES)
        with self._session._connection.changing:
            if self._cancelled:
                self._require_permitted(priority)
                self._priority = priority
            else:
                self._change_priority(priority)

    def _change_priority(self, priority: int) -> None:
        def tell(registered: Registered) -> Registered:
            registered.set_priority(self, priority)
            return registered

        connection = self._session._connection
        told = connection.ask(tell)
        self._priority = priority
        with suppress(DaemonGoneError):  # the next worker is registered with it
            # another thread may have registered the application with the previous priority
            if connection.registered() is not told:
                connection.ask(tell)

    def _require_permitted(self, priority: int) -> None:
        """Checks a priority as the server does, which has not registered the application any more."""
        most = self._session._connection.ask(lambda registered: registered.link.welcome["highest_priority"])
        if priority > most:
            raise RefusedError(
                f"application {self.name!r}: priority {priority} is above {most}, the highest that the server permits"
            )

    def cancel(self) -> None:
        """Cancels the application: queued jobs fail; a running one stops at the next block boundary and fails."""
        with self._session._connection.changing:  # otherwise a concurrent change of priority would register it again
            if not self._cancelled:
                self._cancelled = True
                self._session._connection.registered().cancel(self)
