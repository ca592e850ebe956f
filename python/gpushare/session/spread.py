# SPDX-License-Identifier: Apache-2.0
"""Launches on several GPUs of a session at a time."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from gpushare import _core
from gpushare._core import InvalidInput
from gpushare.backends.base import Submitted
from gpushare.session.dependencies import Dependencies, Thing
from gpushare.session.devices_in_use import Devices
from gpushare.session.job import LONGEST_WAIT_S, LaunchFuture
from gpushare.session.placed_memory import placed_memory

if TYPE_CHECKING:
    from gpushare.session.application import SessionApplication
    from gpushare.session.devices import SessionPart
    from gpushare.session.devices_in_use import DevicesInUse
    from gpushare.session.spread_choice import SpreadChoice, WhereSpread
    from gpushare.session.submission_forms import Launched


class SpreadLaunch:
    """A launch as it is on each device of a session that it can go to.

    Args:
        application: it has its device, on which the arrays are.
        launch: as it is submitted.
        parts: all devices of the session.
        choice: chooses its devices; None: they are named.
        keeps: whether arguments will be needed for the time alone.
    """

    def __init__(
        self,
        application: SessionApplication,
        launch: Launched,
        parts: Sequence[SessionPart],
        choice: SpreadChoice | None,
        *,
        keeps: bool,
    ) -> None:
        self.application = application
        self.arguments = launch[3]
        self.choice = choice
        self._chosen: list[int] = []
        self._launch = launch
        self._parts = parts
        self._keeps = keeps
        self.submitted: dict[int, Submitted] = {}

    @property
    def name(self) -> str:
        """Application and kernel, for messages."""
        return f"{self._launch[0].name!r} of {self.application.name!r}"

    @property
    def home(self) -> SessionPart:
        """The application's device."""
        assert self.application._part is not None
        return self.application._part

    def prepare(self, named: list[int], in_use: DevicesInUse) -> bool:
        """Makes it ready for its home and the named devices, or those that are chosen; False: it is to be ordinary.

        Raises:
            InvalidInput: one that was named cannot run it.
        """
        if self.choice is not None:
            self._chosen = self.choice.devices(self, in_use)
        else:
            self.require_able(named)
            self._chosen = named
        return len(self._chosen) > 0

    def still(self, in_use: DevicesInUse, spread: WhereSpread) -> list[int]:
        """What was prepared a moment ago, less what another thread has vacated since; with the session's lock.

        Of those that were chosen, less those where another application has the name that its part would have.

        Raises:
            InvalidInput: one that was named has been vacated.
        """
        if spread == "auto":
            return [each for each in self._chosen if each == self.home.number or self._can_have(each, in_use)]
        return in_use.still(f"launch of {self.name}", self._chosen, spread)

    def require_able(self, numbers: Sequence[int]) -> None:
        """Makes it ready for its home and these devices.

        Raises:
            InvalidInput: one of them cannot run it.
        """
        for each in (self.home.number, *numbers):
            self._prepare(self._parts[each])

    def able(self, numbers: Sequence[int]) -> list[int]:
        """Those of the devices that can run it, for which it is ready then."""
        able = []
        for each in numbers:
            with suppress(InvalidInput):
                self._prepare(self._parts[each])
                able.append(each)
        return able

    def _can_have(self, number: int, in_use: DevicesInUse) -> bool:
        with suppress(InvalidInput):
            self.application._elsewhere_on(self._parts[number], self.submitted[number].core)
            return number in in_use
        return False

    def _prepare(self, part: SessionPart) -> None:
        if part.number in self.submitted:
            return
        kernel, grid, block, args, shared_bytes = self._launch
        made = part.on.spread_launch(kernel, grid, block, shared_bytes, args, keeps=self._keeps and part is self.home)
        for position, each in enumerate(args):
            _require_reachable(f"launch of {self.name}: argument {position}", each)
        if part is not self.home:
            _core.let_access(_gpu(self.home), _gpu(part))
        self.submitted[part.number] = made

    def job(self, devices: list[int], things: Sequence[Any]) -> SpreadJob:
        """The job, which has a place on each of these devices but its home; with the session's lock."""
        job = SpreadJob(self, _core.SpreadJob(_gpu(self.home), self.submitted[self.home.number].launch.blocks), things)
        for number in devices:
            if number != self.home.number:
                self.add_place(job.core, number)
        return job

    def add_place(self, job: _core.SpreadJob, number: int) -> None:
        """Makes the job able to go to the device."""
        part, made = self._parts[number], self.submitted[number]
        assert made.code is not None
        job.add_place(number, part.core, self.application._elsewhere_on(part, made.core), made.core, made.code)


class SpreadJob(LaunchFuture):
    """A launch whose blocks run on several GPUs of a session: a :class:`concurrent.futures.Future` that can be awaited.

    On each GPU its part is a launch of that GPU's scheduler. Made by :meth:`SessionApplication.submit` with ``spread``.
    """

    def __init__(self, launch: SpreadLaunch, core: _core.SpreadJob, things: Sequence[Any]) -> None:
        self._spread: SpreadLaunch | None = launch
        self._name = launch.name
        self._session = launch.application._session
        self._home = launch.home
        self.core = core
        self._held: Sequence[Any] | None = [launch.arguments, things]
        self._error: Exception | None = None

    @property
    def name(self) -> str:
        """Application and kernel, for messages."""
        return self._name

    @property
    def devices(self) -> tuple[int, ...]:
        """The numbers of the devices on which its blocks run, or will with its turn; where it has ended, ran last."""
        return tuple(self.core.devices())

    def move(self, devices: Devices) -> bool:
        """Its blocks run on these devices from now on: on others none begins, and those that run end there.

        Args:
            devices: their numbers in the session, or one; True: all that are not vacated.

        Returns:
            False if it has ended.

        Raises:
            InvalidInput: there is no such device, one is named twice, has been vacated, or cannot run it; it goes on
                where it is.
            Cancelled: its application has been cancelled.
            DeviceError: the session has failed.
        """
        launch = self._spread
        if launch is None or self._wait(0):
            return False
        subject, in_use = f"launch of {launch.name}", self._session._in_use
        chosen = in_use.chosen(subject, devices)
        launch.require_able(chosen)
        with self._session._lock:
            self._session._require_open()
            return self._go_to(launch, in_use.still(subject, chosen, devices))

    def leave(self, number: int) -> None:
        """It goes from a device that has been vacated to its others, or to all others in use that can run it.

        Where there is none, or it has ended, nothing happens.
        """
        launch, in_use = self._spread, self._session._in_use
        if launch is None or self._wait(0) or number not in self.devices:
            return
        others = launch.able(in_use.numbers) if len(self.devices) == 1 else []
        with self._session._lock:
            left = [each for each in self.devices if each in in_use] or [each for each in others if each in in_use]
            if left:
                self._go_to(launch, left)

    def _go_to(self, launch: SpreadLaunch, numbers: list[int]) -> bool:
        """Moves it, with the session's lock."""
        for each in numbers:
            if not self.core.has_place(each):
                launch.add_place(self.core, each)
        return self.core.move(numbers)

    def submit(self, number: int, devices: list[int], *, is_held: bool) -> int:
        """Submits it; ``number`` is that of its application on its device. Returns the number of its job there."""
        launch = self._spread
        assert launch is not None
        made = launch.submitted[launch.home.number]
        assert made.code is not None
        home = launch.home
        choice = launch.choice
        only_idle = choice is not None
        job = self.core.submit(home.number, home.core, number, made.core, made.code, devices, is_held, only_idle)
        if choice is not None:
            choice.watch(self.core, len(devices))
        return job

    def as_things(self) -> list[Thing]:
        """What a later job of its application waits for; nothing where it has ended."""
        return [] if self._wait(0) else [partial(Dependencies.after_spread, other=self.core)]

    def _settle_at_end(self) -> None:
        if self._wait(0):
            self._settle()
        else:
            self._home.watcher.start(self._settle_later)

    def _settle_later(self) -> None:
        while not self._wait(LONGEST_WAIT_S):
            pass
        self._settle()

    def _leaves(self, device: int, seconds: float) -> bool:
        return self._wait(0) or self.core.wait_for_leave(device, seconds)

    def _wait(self, seconds: float) -> bool:
        if self._error is not None or self._held is None:
            return True
        self._home.core.require_other_thread()
        try:
            if not self.core.wait(seconds):
                return False
        except Exception as error:
            self._error = error
        self._held = self._spread = None
        return True

    def _failure(self) -> Exception | None:
        return self._error

    def __repr__(self) -> str:
        return f"<SpreadJob {self.name}>"


def _gpu(part: SessionPart) -> _core.CudaDevice:
    gpu = part.on.gpu
    assert gpu is not None  # others refuse to spread
    return gpu


def _require_reachable(subject: str, argument: Any) -> None:
    """Raise InvalidInput for memory that only one GPU may have mapped."""
    memory = placed_memory(argument)
    is_array = memory is not None or hasattr(argument, "__cuda_array_interface__") or hasattr(argument, "__dlpack__")
    is_own = memory is not None and isinstance(memory.memory, _core.DeviceMemory)
    if is_array and not is_own:
        raise InvalidInput(
            f"{subject}: a launch on several GPUs takes arrays of its session, as others and variables of kernels may "
            "be mapped for one GPU only: copy it, session.array(...)"
        )
