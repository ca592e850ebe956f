# SPDX-License-Identifier: Apache-2.0
"""The devices of a session: a session of the core on each, and what they have together."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gpushare import _core
from gpushare._core import Device, InvalidInput, SessionPast, SessionStatus
from gpushare.backends.choice import backend_named
from gpushare.model.devices import DeviceName
from gpushare.policy import Policy, own_policy
from gpushare.session.dependencies import Dependencies
from gpushare.session.job_watcher import JobWatcher

if TYPE_CHECKING:
    from gpushare.backends.base import SessionDevice
    from gpushare.model.workload import Workload
    from gpushare.results.measured import Measured
    from gpushare.session.submission_forms import Launched


class SessionPart:
    """One device of a session.

    Attributes:
        number: of the device, counted from 0.
        on: the device.
        core: the core's session there.
        watcher: settles its jobs.
        dependencies: what its jobs wait for.
        offset_ns: the time of the first device's session when that of this one was 0.
    """

    def __init__(self, number: int, on: SessionDevice, core: _core.CoreSession) -> None:
        self.number = number
        self.on = on
        self.core = core
        self.watcher = JobWatcher(core)
        self.dependencies = Dependencies(core, on.gpu)
        self.offset_ns = 0


class SessionDevices:
    """All devices of a session, whose clocks it relates.

    Args:
        names: of the devices; each is there, and none twice.
        speed: simulated seconds per second of wall-clock time.
        policy: of each device; one in Python is copied.
        ordering: of each device.
        keeps_record: False for a session that cannot be finished.

    Raises:
        InvalidInput: a device, or the speed, is wrong.
        CudaError: there is no such GPU.
    """

    def __init__(
        self, names: Sequence[DeviceName], speed: float, policy: str | Policy, ordering: str, *, keeps_record: bool
    ) -> None:
        devices = [backend_named(name).session_device(speed) for name in names]
        self.parts: list[SessionPart] = []
        try:
            for number, on in enumerate(devices):
                own = policy if number == 0 else own_policy(policy)
                core = on.open(own, ordering, keeps_record=keeps_record, beside=devices[0] if number else None)
                self.parts.append(SessionPart(number, on, core))
        except BaseException:
            self.close()
            raise
        for part in self.parts[1:]:
            if not part.on.shares_clock:
                part.offset_ns = self._offset_of(part)

    def _offset_of(self, part: SessionPart) -> int:
        before = self.parts[0].core.status().now_ns
        there = part.core.status().now_ns
        return (before + self.parts[0].core.status().now_ns) // 2 - there

    @property
    def are_several(self) -> bool:
        """Whether applications have to be placed."""
        return len(self.parts) > 1

    @property
    def descriptions(self) -> tuple[Device, ...]:
        """The devices as schedulers see them."""
        return tuple(each.on.device.description for each in self.parts)

    @property
    def _offsets(self) -> list[int]:
        return [each.offset_ns for each in self.parts]

    def require_other_thread(self) -> None:
        """Raise InvalidInput in the thread of one of the devices, where policies run."""
        for each in self.parts:
            each.core.require_other_thread()

    def status(self) -> SessionStatus:
        """The present state of all."""
        states = [each.core.status() for each in self.parts]
        return _core.merged_status(states, self._offsets) if self.are_several else states[0]

    def history(self, last_ns: int) -> SessionPast:
        """The last so much time of all."""
        pasts = [each.core.history(last_ns) for each in self.parts]
        return _core.merged_past(pasts, self._offsets) if self.are_several else pasts[0]

    def set_policy(self, policy: str | Policy, last: str | Policy) -> None:
        """Another policy on all of them; where one refuses it, ``last`` goes on on all."""
        changed: list[SessionPart] = []
        try:
            for each in self.parts:
                each.core.set_policy(own_policy(policy))
                changed.append(each)
        except Exception:
            for each in changed:
                each.core.set_policy(own_policy(last))
            raise

    def finish(self, timeout_s: float) -> tuple[_core.CoreWorkload, _core.RunRecord]:
        """Waits for everything; what was done, and its record."""
        cores = [each.core for each in self.parts]
        return _core.finish_sessions(cores, self.descriptions, self._offsets, timeout_s)

    def conditions(
        self, workload: Workload, done: _core.CoreWorkload, device_of: Callable[[str], int]
    ) -> Measured | None:
        """The conditions of a measured run; ``device_of``: the number of an application's device."""
        each = [part.on.conditions(workload, done) for part in self.parts]
        first = each[0]
        if first is None or not self.are_several:
            return first
        of = [device_of(application.name) for application in workload.applications for _ in application.operations]
        residencies = [measured.max_residency if measured else first.max_residency for measured in each]
        return replace(first, max_residency=tuple(residencies[device][place] for place, device in enumerate(of)))

    def first_launches(self, launch: Launched | None, where: SessionPart | None = None) -> list[_core.Launch | None]:
        """The launch as it is on each device, None where it cannot run; nothing where there is no launch.

        Args:
            launch: as it is submitted.
            where: the device that will run it, where that is known: others of its kind need not load the kernel.

        Raises:
            InvalidInput: it cannot run on any; or a GPU's kernel does not compile.
        """
        if launch is None:
            return []
        kernel, grid, block, _, shared_bytes = launch
        known: dict[Hashable, _core.Launch | None] = {}
        refusal: InvalidInput | None = None
        parts = self.parts if where is None else [where, *self.parts]
        for on in (part.on for part in parts):
            if on.kind in known:
                continue
            try:
                known[on.kind] = on.core_launch(kernel, grid, block, shared_bytes)
            except InvalidInput as error:
                known[on.kind], refusal = None, refusal or error
        if refusal is not None and not any(known.values()):
            raise refusal
        return [known[part.on.kind] for part in self.parts]

    def ends(self) -> list[tuple[_core.CoreSession, JobWatcher]]:
        """What has to be closed and joined at the end of the process."""
        return [(each.core, each.watcher) for each in self.parts]

    def close(self) -> None:
        """Ends everything at the next block boundary."""
        for each in self.parts:
            each.core.close()

    def release(self) -> None:
        """After the end: releases devices that have failed, and copies of variables."""
        for each in self.parts:
            each.dependencies.close()
            each.on.check()
            each.on.forget()

    def check(self) -> None:
        """Releases devices that have failed."""
        for each in self.parts:
            each.on.check()
