# SPDX-License-Identifier: Apache-2.0
"""Applications of a session."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gpushare import _core
from gpushare.arguments.device_array import DeviceArray
from gpushare.arguments.launch_geometry import Extent
from gpushare.backends.base import Submitted
from gpushare.checks import require, whole
from gpushare.kernels.kernel import Kernel
from gpushare.model.kernel_model import KernelModel
from gpushare.model.operation import Launch
from gpushare.model.service_level import Terms
from gpushare.model.workload import PRIORITIES, Application
from gpushare.policy import Policy
from gpushare.session.dependencies import NOTHING
from gpushare.session.job import Job
from gpushare.session.spread import SpreadJob
from gpushare.session.spread_choice import WhereSpread
from gpushare.session.submission_forms import launched

if TYPE_CHECKING:
    from gpushare.session.devices import SessionPart
    from gpushare.session.placing import Needs
    from gpushare.session.session import Session


class PartApplication:
    """What the core of another device knows of an application: the parts of its launches that run there.

    Attributes:
        name: its name in the core.
        part: the device.
        number: its number there.
    """

    def __init__(self, name: str, part: SessionPart, number: int) -> None:
        self.name = name
        self.part = part
        self.number = number


class SessionApplication:
    """An application of a session: its launches run one after the other. Made by :meth:`Session.application`."""

    def __init__(self, session: Session, name: str, priority: int, terms: Terms, needs: Needs) -> None:
        self.name = name
        self._priority = self._first_priority = priority
        self.terms = terms
        self._session = session
        self._needs = needs
        self._part: SessionPart | None = None
        self._number: int | None = None
        self._launches: list[Submitted] = []
        self._held: dict[int, int] = {}  # places in _launches of those that wait for something, by numbers of jobs
        self._cancelled = False
        self._elsewhere: dict[int, PartApplication] = {}  # by device
        self._last_spread: SpreadJob | None = None

    @property
    def priority(self) -> int:
        """The priority; larger is more urgent, for policies with priorities."""
        return self._priority

    @property
    def device(self) -> int | None:
        """The number of its device among those of the session; None: it has none yet."""
        return self._needs.device if self._part is None else self._part.number

    def array(self, values: Any) -> DeviceArray:
        """A copy of host values, of any shape, in the memory of its device, which it gets now unless it has one.

        Raises:
            InvalidInput: no device has so much memory; or the values are a masked array.
        """
        array = self._session.array(values)
        self._session._part_for(self, [array])
        return array

    def zeros(self, shape: int | tuple[int, ...], dtype: Any = np.float32) -> DeviceArray:
        """Zeroed memory of its device, which it gets now unless it has one.

        Raises:
            InvalidInput: no device has so much memory; or the shape or the type is not valid.
        """
        array = self._session.zeros(shape, dtype)
        self._session._part_for(self, [array])
        return array

    def variable(self, kernel: Kernel, name: str, dtype: Any = None, shape: Any = None) -> DeviceArray:
        """A variable of the kernel's source on its device, as :meth:`Session.variable`, with the same errors."""
        return self._session._variable(self, kernel, name, dtype, shape)

    def set_priority(self, priority: int) -> None:
        """Changes the priority, also while launches run.

        Raises:
            InvalidInput: it is above the session's ``highest_priority``.
            PolicyError: the session's policy has no priorities.
        """
        self._session._set_priority(self, priority)

    def cancel(self) -> None:
        """Cancels the application: queued launches are dropped, and running ones stop at the next block boundary.

        Its jobs that have not ended raise :class:`gpushare.Cancelled`; other applications are not affected. Returns at
        once.
        """
        self._session._cancel(self)

    def _register(self, core: _core.CoreSession, first: _core.Launch) -> int:
        """Registers the application in the core, at its first launch; its number there."""
        if self._cancelled:
            raise _core.Cancelled(f"application {self.name!r} has been cancelled")
        if self._number is None:
            described = _core.Application(self.name, [], priority=self.priority, **self.terms.core)
            self._number, self._first_priority = core.add(described, first), self.priority
        return self._number

    def _elsewhere_on(self, part: SessionPart, first: _core.Launch) -> int:
        """Its number on another device, where it is registered at its first part; with the session's lock."""
        if self._cancelled:
            raise _core.Cancelled(f"application {self.name!r} has been cancelled")
        if part.number not in self._elsewhere:
            name = f"{self.name}@{part.number}"
            self._session._require_free(name)
            described = _core.Application(name, [], priority=self.priority, weight=self.terms.weight)
            self._elsewhere[part.number] = PartApplication(name, part, part.core.add(described, first))
        return self._elsewhere[part.number].number

    def _numbers(self) -> list[tuple[_core.CoreSession, int]]:
        """Its numbers in the cores that know it, here and elsewhere."""
        own = [] if self._part is None or self._number is None else [(self._part.core, self._number)]
        return own + [(each.part.core, each.number) for each in self._elsewhere.values()]

    def _as_run(self, name: str, arrival_ns: int, operations: Sequence[_core.Launch]) -> Application:
        """The application in a run, here or, by another name, elsewhere, with these launches, which had begun."""
        if name != self.name:
            launches = [_first_like(each, iter(self._launches)) for each in operations]
            return Application(name, tuple(launches), arrival_ns=arrival_ns, priority=self._first_priority)
        rest = iter(self._launches)
        return Application(
            self.name,
            tuple(_first_like(each, rest) for each in operations),
            arrival_ns=arrival_ns,
            priority=self._first_priority,  # the trace has the later ones
            weight=self.terms.weight,
            deadline_ns=self.terms.deadline_ns,
            min_speed=self.terms.min_speed,
            latency_ns=self.terms.latency_ns,
        )

    def submit(
        self,
        kernel: Kernel | KernelModel | Launch,
        blocks: int | None = None,
        *,
        grid: int | Extent | None = None,
        block: int | Extent | None = None,
        args: Sequence[Any] = (),
        shared_bytes: int = 0,
        after: Any = NOTHING,
        spread: WhereSpread = False,
    ) -> Job | SpreadJob:
        """Submits a launch and returns at once.

        Args:
            kernel: a Kernel; on a simulated device one with a profile, such as those of the suite, or a KernelModel.
                Or a Launch, which has all but arguments in device memory.
            blocks: thread blocks of a KernelModel, instead of a grid and a block.
            grid: blocks, an int or up to three, x first.
            block: threads per block, an int or up to three, x first.
            args: one per parameter: arrays in device memory (of this session, PyTorch, CuPy, Numba) for pointers,
                numbers for values.
            shared_bytes: dynamic shared memory per block.
            after: what the job waits for: a job of any session, another :class:`concurrent.futures.Future`, or on a GPU
                a stream or a recorded event of PyTorch or CuPy, or any object with ``__cuda_stream__``. Or a list of
                these. Of a stream, the work that is in it now. Later launches of the application wait as well. Where
                one of these fails, the job is cancelled.
            spread: True: its blocks run on all GPUs of the session at a time that are not vacated; or the numbers of
                those on which they begin to. "auto": on all that have nothing else to do, where launches of this
                kernel, grid and block took at least 1 ms on one and have been 5 % faster on all; what cannot be spread
                runs on one.

        Returns:
            The job, a future. With ``spread`` it is a :class:`gpushare.session.spread.SpreadJob`, which can be moved;
            with "auto" only where the launch is spread, or measured on one device to be compared.

        Raises:
            InvalidInput: an argument, the grid or the block is not valid; the message names it. Or the first launch
                would take longer than the application's deadline or latency bound allows.
            Cancelled: the application has been cancelled.
            DeviceError: the session has failed; on a GPU a CudaError.
        """
        parts = launched(kernel, blocks, grid, block, args, shared_bytes)
        return self._session._submit(self, parts, after, spread)


def _first_like(operation: _core.Launch, submitted: Iterator[Submitted]) -> Launch:
    """The next launch that became such an operation: those of which no block began here are left out."""
    shape = operation.kernel.name, operation.blocks
    return next(each.launch for each in submitted if (each.core.kernel.name, each.core.blocks) == shape)


def permitted_priority(name: str, priority: int, most: int | None, policy: str | Policy) -> int:
    """The priority, checked.

    Raises:
        InvalidInput: it is not a valid priority, or above the session's highest.
        PolicyError: the policy has no priorities.
    """
    priority = whole(f"application {name!r}: priority", priority, *PRIORITIES)
    require(
        most is None or priority <= most,
        f"application {name!r}: priority {priority} is above {most}, the highest that this session permits; "
        "it was opened with Session(highest_priority=...)",
    )
    if isinstance(policy, str):
        _core.require_priority(policy, name, priority)
    return priority


def require_permitted_latency(name: str, latency_ns: float | None, most: int | None) -> None:
    """Raises InvalidInput for a latency bound if the highest permitted priority, ``most``, is not above 0."""
    require(
        latency_ns is None or most is None or most > 0,
        f"application {name!r}: a latency bound needs a session that permits priorities above 0; "
        "it was opened with Session(highest_priority=...)",
    )
