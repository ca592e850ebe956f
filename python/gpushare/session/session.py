# SPDX-License-Identifier: Apache-2.0
"""Sessions: applications of one process share a GPU under a policy and submit launches at any time."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from typing_extensions import override

from gpushare import _core
from gpushare._core import Device, InvalidInput, SessionPast, SessionStatus
from gpushare.arguments.device_array import DeviceArray
from gpushare.backends.base import DEFAULT_PLACEMENT
from gpushare.backends.choice import device_names, require_placement
from gpushare.checks import MOST_BYTES, number, require, require_name, whole
from gpushare.kernels.kernel import Kernel
from gpushare.model.devices import chosen
from gpushare.model.service_level import Terms
from gpushare.model.workload import PRIORITIES
from gpushare.policy import Policy, own_policy, policy_name, require_open_ordering
from gpushare.results.run import Run
from gpushare.session.api import FINISH_TIMEOUT_S, FINISHED, SessionApi, Unopened
from gpushare.session.application import SessionApplication, permitted_priority, require_permitted_latency
from gpushare.session.dependencies import NOTHING, require_own_streams, things_in
from gpushare.session.devices import SessionDevices
from gpushare.session.devices_in_use import DevicesInUse
from gpushare.session.fork_safety import ends_here
from gpushare.session.job import LONGEST_WAIT_S, Job, UnfinishedJobs
from gpushare.session.placed_memory import on_part
from gpushare.session.placing import Needs, Placing
from gpushare.session.session_as_run import begun_work, decided_by
from gpushare.session.spread import SpreadJob, SpreadLaunch
from gpushare.session.spread_choice import SpreadChoices, WhereSpread
from gpushare.session.submission_forms import Launched

if TYPE_CHECKING:
    from gpushare.session.devices import SessionPart


class Session(SessionApi):
    """Applications of this process share a GPU under a policy.

    A session makes kernels preemptible and schedules them in a separate thread, which holds the GIL only for policies
    written in Python. There can be one session at a time per GPU and process.

    On a simulated device launches take the time of their model and compute nothing: arrays are in host memory and do
    not change, and arguments are not checked. Simulated time follows the wall clock, as far as the simulator is fast
    enough.

    Args:
        device: ``"cuda:0"`` for a GPU, or a simulated device; see :func:`gpushare.device`. Several, as in
            ``"cuda:0,cuda:1"``, ``"cuda:all"`` or ``"sim:h100*2"``: each has a scheduler of its own.
        policy: the name of a built-in policy that is no oracle, or an instance of :class:`gpushare.Policy`.
        ordering: selects the operations that the policy sees next: a name that :func:`gpushare.compare` takes before a
            ``+``, such as ``"cumas:kernels=2"``. It does not change during the session.
        measure_alone: when the session is finished, run every application's launches again, alone and as original
            kernels, so that the run has metrics; afterwards the arrays hold the results of the jobs again. The session
            references all arrays until then. Without it runtimes alone count as 1 ns.
        highest_priority: the highest priority that applications can get; None: no limit. A program that opens a session
            for other code sets it, as Linux reserves priorities above the default for the superuser.
        speed: simulated seconds per second of wall-clock time, on a simulated device.
        keeps_record: False for a session that runs indefinitely: no records are stored, and it cannot be finished.
        place: ``"predicted"``, ``"least-loaded"`` or ``"first-fit"``: how an application gets one of several devices
            with its first launch or array.

    Raises:
        InvalidInput: there is no such device, policy, ordering or placement, or a value is not valid.
        CudaError: there is no such GPU, or no driver.

    >>> import gpushare as gs
    >>> with gs.Session("sim:h100", policy="srtf") as session:
    ...     alice, bob = session.application("alice"), session.application("bob")
    ...     triad = gs.Launch.of_suite("triad")
    ...     job = alice.submit(triad.kernel, grid=100, block=triad.block)
    ...     job.result()
    ...     run = session.finish()
    >>> run.launches()["kernel"].tolist()
    ['triad']
    """

    def __init__(
        self,
        device: str | Path | Device = "cuda:0",
        policy: str | Policy = "srtf",
        *,
        ordering: str = "arrival",
        measure_alone: bool = True,
        highest_priority: int | None = None,
        speed: float = 1.0,
        keeps_record: bool = True,
        place: str = DEFAULT_PLACEMENT,
    ) -> None:
        owned = own_policy(policy)
        require(isinstance(ordering, str), f"ordering must be a name, got {ordering!r}")
        require_open_ordering(ordering)
        if highest_priority is not None:
            whole("highest_priority", highest_priority, *PRIORITIES)
        self._highest_priority = highest_priority
        require_placement(place)
        self._place = place
        self._chosen = device_names(chosen(device, "cuda:0")), speed
        self.policy = policy
        self._ordering = ordering
        self._policies = [policy_name(policy)]
        self._measure_alone = measure_alone
        self._keeps_record = keeps_record
        self._first_policy = self._present_policy = owned
        self._devices = cast("SessionDevices", Unopened(self, "_devices"))
        self._applications: list[SessionApplication] = []
        self._jobs = UnfinishedJobs()
        self._lock = threading.Lock()
        super().__init__()

    @override
    def _open(self) -> None:
        names, speed = self._chosen
        devices = SessionDevices(names, speed, self._first_policy, self._ordering, keeps_record=self._keeps_record)
        self._in_use = DevicesInUse(len(names))
        self._spread_choices = SpreadChoices()
        self._placing = Placing(devices, self._in_use, self._place) if devices.are_several else None
        self._devices = devices
        ends_here(self)

    @property
    @override
    def device(self) -> Any:
        """The device.

        Raises:
            InvalidInput: there are several.
        """
        devices = self.devices
        require(len(devices) == 1, f"the session has {len(devices)} devices: see its devices")
        return devices[0]

    @property
    def devices(self) -> tuple[Any, ...]:
        """The device, or all of them: their numbers are their places."""
        return tuple(each.on.device for each in self._devices.parts)

    @property
    @override
    def ordering(self) -> str:
        return self._ordering

    @override
    def application(
        self,
        name: str,
        priority: int = 0,
        weight: float = 1.0,
        deadline_ns: float | None = None,
        min_speed: float | None = None,
        latency_ns: float | None = None,
        memory_bytes: int | None = None,
        device: int | None = None,
    ) -> SessionApplication:
        self._require_open()
        require_name("an application's name", name)
        terms = Terms(weight, deadline_ns, min_speed, latency_ns).checked(f"application {name!r}")
        require_permitted_latency(name, latency_ns, self._highest_priority)
        needs = self._needs(name, memory_bytes, device)
        with self._lock:
            self._require_free(name)
            priority = permitted_priority(name, priority, self._highest_priority, self.policy)
            application = SessionApplication(self, name, priority, terms, needs)
            self._applications.append(application)
        return application

    def _require_free(self, name: str) -> None:
        """Raise InvalidInput if an application has the name, or its part on another device; with the lock."""
        taken = {each.name for each in self._applications}
        taken |= {other.name for each in self._applications for other in each._elsewhere.values()}
        require(name not in taken, f"the session has an application {name!r} already: take another name")

    def _needs(self, name: str, memory_bytes: int | None, device: int | None) -> Needs:
        """What an application says of itself.

        Raises:
            InvalidInput: there is no such device, it has been vacated, or none has so much memory.
        """
        devices = self._devices.descriptions
        subject = f"application {name!r}"
        if device is not None:
            self._in_use.require(subject, [whole(f"{subject}: device", device, 0, len(devices) - 1)])
        if memory_bytes is not None:
            whole(f"{subject}: memory_bytes", memory_bytes, 0, MOST_BYTES)
            among = devices if device is None else [devices[device]]
            require(
                any(memory_bytes <= (each.memory_bytes or MOST_BYTES) for each in among),
                f"{subject} needs {memory_bytes} bytes of memory, and the largest device that it may have has "
                f"{max(each.memory_bytes for each in among)}",
            )
        return Needs(memory_bytes, device)

    @override
    def array(self, values: Any) -> DeviceArray:
        on = self._devices.parts[0].on
        return on.array(values) if self._placing is None else self._placing.array(values)

    @override
    def zeros(self, shape: int | tuple[int, ...], dtype: Any = np.float32) -> DeviceArray:
        on = self._devices.parts[0].on
        return on.zeros(shape, dtype) if self._placing is None else self._placing.zeros(shape, dtype)

    @override
    def load(self, kernel: Kernel) -> None:
        self._require_open()
        for each in self._devices.parts:
            each.on.load(kernel)

    @override
    def variable(self, kernel: Kernel, name: str, dtype: Any = None, shape: Any = None) -> DeviceArray:
        self._require_open()
        require(isinstance(kernel, Kernel), f"a variable is of a gs.Kernel's source, got {kernel!r}")
        require(
            self._placing is None,
            f"variable {name!r}: each of the session's devices has a copy of it: take application.variable(...)",
        )
        return self._devices.parts[0].on.variable(kernel, name, dtype, shape)

    def _variable(
        self, application: SessionApplication, kernel: Kernel, name: str, dtype: Any, shape: Any
    ) -> DeviceArray:
        if self._placing is None:
            return self.variable(kernel, name, dtype, shape)
        self._require_open()
        require(isinstance(kernel, Kernel), f"a variable is of a gs.Kernel's source, got {kernel!r}")
        part = self._part_for(application)
        return on_part(part.on.variable(kernel, name, dtype, shape), part)

    @override
    def set_policy(self, policy: str | Policy) -> None:
        self._require_open()
        owned, name = own_policy(policy), policy_name(policy)
        with self._lock:  # no application may be added meanwhile that the new policy cannot serve
            for each in self._applications:  # the core checks the applications that are registered there
                if each._number is None and isinstance(policy, str):
                    _core.require_priority(policy, each.name, each.priority)
            self._devices.set_policy(owned, self._present_policy)
            self._present_policy = owned
            self.policy = policy
            self._policies.append(name)

    def status(self) -> SessionStatus:
        """The present state: applications that have submitted a launch and have not been cancelled.

        >>> import gpushare as gs
        >>> model = gs.KernelModel("long", threads=128, latency_ns=1_000_000_000)
        >>> with gs.Session("sim:gtx480", "fifo") as session:
        ...     job = session.application("alice").submit(model, grid=2, block=128)
        ...     (alice,) = session.status().applications
        >>> alice.name, alice.kernel, alice.blocks, alice.done, alice.quota
        ('alice', 'long', 2, 0, '8')
        """
        self._require_open()
        return self._devices.status()

    def history(self, seconds: float) -> SessionPast:
        """Launches, quotas and SMs of the last seconds, for a session that stores no record."""
        return self._devices.history(round(number("seconds", seconds, 0, 1e6) * 1e9))

    def vacate(self, device: int, timeout: float = 0) -> int:
        """Empties one of several devices, for other work: nothing new is placed there before :meth:`restore`.

        Spread jobs leave it for the others of theirs, or, where they had no other, for all of the session that can run
        them. Other jobs end there, and so do later ones of applications that have their arrays there. To name the
        device meanwhile, as in ``spread=[1]`` or ``application(device=1)``, is an error. May be called again.

        Args:
            device: its number.
            timeout: how long to wait for its jobs, in seconds.

        Returns:
            How many jobs have not ended there, those that wait for their turn included; 0: it is empty.

        Raises:
            InvalidInput: there is no such device, or all others are vacated; or the timeout is no valid number.

        >>> import gpushare as gs
        >>> with gs.Session("sim:h100*2", "fifo") as session:
        ...     left = session.vacate(0, timeout=60)
        ...     alice = session.application("alice")
        ...     alice.submit(gs.KernelModel("model", threads=128, latency_ns=1000), 4).result()
        >>> left, alice.device
        (0, 1)
        """
        self._require_open()
        timeout = number("timeout", timeout, 0, LONGEST_WAIT_S)
        with self._lock:
            self._require_open()
            self._in_use.vacate(device)
        for each in self._jobs.jobs:
            if isinstance(each, SpreadJob):
                with suppress(_core.Cancelled, InvalidInput):  # it goes by itself, or cannot go elsewhere
                    each.leave(device)
        end = time.monotonic() + timeout
        while True:
            there = [each for each in self._jobs.jobs if not each._leaves(device, 0)]
            left = end - time.monotonic()
            if not there or left <= 0:
                return len(there)
            there[0]._leaves(device, left)

    def restore(self, device: int) -> None:
        """Makes a vacated device one like the others again. Nothing returns to it by itself.

        Args:
            device: its number.

        Raises:
            InvalidInput: there is no such device.
        """
        self._require_open()
        with self._lock:
            self._in_use.restore(device)

    def finish(self, timeout: float = FINISH_TIMEOUT_S) -> Run:
        """Waits for all jobs and ends the session.

        For a cancelled application the run has the launches that had begun. Their runtime alone is not known, so the
        application counts as undisturbed.

        Args:
            timeout: in seconds.

        Raises:
            DeviceError: a job failed, or did not end in time; the message names its application. On a GPU a CudaError.
            InvalidInput: nothing was submitted; or the timeout is no valid number, and the session stays open.
        """
        self._require_open()
        timeout = number("timeout", timeout, 0, 1e6)
        require(self._keeps_record, "this session keeps no record, so it cannot be finished: close it")
        with self._lock:
            self._require_open()
            busy = [each for each in self._applications if each._launches]
            require(len(busy) > 0, "nothing was submitted to this session")
            self._finished = True  # no launch may be submitted from now on
        try:
            done, record = self._devices.finish(timeout)
        except _core.DeviceError:
            self._devices.close()
            self._end()
            raise
        except KeyboardInterrupt:
            self._finished = False  # the session goes on until it is closed
            raise
        for each in busy:
            failed = each._part.dependencies.failed if each._part else set()
            abandoned = {place for number, place in each._held.items() if number in failed}
            each._launches = [launch for place, launch in enumerate(each._launches) if place not in abandoned]
        try:
            workload, alone = begun_work(busy, done, record, self._alone_ns)
        finally:
            self._end()
        device_of = {each.name: each.device or 0 for each in busy}
        device_of |= {other.name: other.part.number for each in busy for other in each._elsewhere.values()}
        measured = self._devices.conditions(workload, done, device_of.__getitem__)
        policy, place = decided_by(self.ordering, self._policies), self._place if self._placing else None
        devices = self._devices.descriptions
        return Run(workload, policy, devices, 0, alone, record, measured=measured, place=place)

    def _alone_ns(self, application: SessionApplication) -> int:
        if not self._measure_alone or application._part is None:
            return 1
        return application._part.on.alone_ns(application.name, application._launches)

    def _require_open(self) -> None:
        if not self._finished or self._is_open:  # it is not opened to say that it has been finished
            self._devices.require_other_thread()
        require(not self._finished, FINISHED)

    @override
    def close(self) -> None:
        was_finished, self._finished = self._finished, True
        if not self._is_open:
            return
        self._devices.close()  # also where another thread waits in finish()
        if was_finished:
            self._devices.check()
        else:
            self._end()

    def _end(self) -> None:
        """Releases the device and the session's copies of variables."""
        self._devices.release()
        for each in self._applications:
            each._launches = []

    def _submit(
        self,
        application: SessionApplication,
        launch: Launched,
        after: Any,
        spread: WhereSpread,
    ) -> Job | SpreadJob:
        self._require_open()
        things = things_in(after, self._devices.parts[0].on.gpu) if after is not NOTHING else []
        kernel, grid, block, args, shared_bytes = launch
        named: list[int] | None = None  # the launch chooses
        if not (isinstance(spread, str) and spread == "auto"):
            named = [] if spread is False else self._in_use.chosen(f"launch of {application.name!r}", spread)
        part = self._part_for(application, args, launch)
        if things:
            require_own_streams(after, part.on.ordinal)
        spreads = self._spread_launch(application, launch, named)
        if spreads is None:
            submitted = part.on.launch(kernel, grid, block, shared_bytes, args, keeps=self._measure_alone)
        else:
            submitted = spreads.submitted[part.number]
        # Whatever the job waits for must exist as long as the driver may be asked about it.
        held = (args, after)
        job: Job | SpreadJob
        with self._lock:
            require(not self._finished, FINISHED)
            devices = [] if spreads is None else spreads.still(self._in_use, spread)
            number = application._register(part.core, submitted.core)
            if application._last_spread is not None:
                things = [*things, *application._last_spread.as_things()]
            # Both steps under one lock, so that the list has the order of the job numbers.
            if spreads is None:
                job_number = part.core.submit(number, submitted.core, submitted.code, len(things) > 0)
                job = Job(part, job_number, kernel.name, application.name, held)
            else:
                job = spreads.job(devices, held)
                job_number = job.submit(number, devices, is_held=len(things) > 0)
                application._last_spread = job
            if self._keeps_record:
                if things:
                    application._held[job_number] = len(application._launches)
                application._launches.append(submitted)
            self._jobs.add(job)
        if things:
            part.dependencies.hold(job_number, things)
        return job

    def _spread_launch(
        self, application: SessionApplication, launch: Launched, named: list[int] | None
    ) -> SpreadLaunch | None:
        """The launch, ready for the named devices or, without names, those that it chooses; None: it is ordinary."""
        parts = self._devices.parts
        can_choose = self._devices.are_several and parts[0].on.gpu is not None
        if named == [] or (named is None and not can_choose):
            return None
        choice = self._spread_choices.of(launch) if named is None else None
        spreads = SpreadLaunch(application, launch, parts, choice, keeps=self._measure_alone)
        return spreads if spreads.prepare(named or [], self._in_use) else None

    def _part_for(
        self, application: SessionApplication, arguments: Sequence[Any] = (), launch: Launched | None = None
    ) -> SessionPart:
        """The application's device; a first use places it."""
        if self._placing is not None:
            return self._placing.part_for(application, arguments, launch)
        application._part = part = self._devices.parts[0]
        return part

    def _set_priority(self, application: SessionApplication, priority: int) -> None:
        self._require_open()
        with self._lock:
            priority = permitted_priority(application.name, priority, self._highest_priority, self.policy)
            if not application._cancelled:
                for core, number in application._numbers():
                    core.set_priority(number, priority)
            application._priority = priority

    def _cancel(self, application: SessionApplication) -> None:
        self._require_open()
        with self._lock:
            application._cancelled = True
            for core, number in application._numbers():
                core.withdraw(number)
            if not self._keeps_record and application in self._applications:
                self._applications.remove(application)
