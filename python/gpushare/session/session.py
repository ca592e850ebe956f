# SPDX-License-Identifier: Apache-2.0
"""Sessions: applications of one process share a GPU under a policy, launch by launch as they come."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from gpushare import _core
from gpushare._core import Device, InvalidInput, SessionPast, SessionStatus
from gpushare.backends.cuda.device_array import DeviceArray
from gpushare.kernels.kernel import Kernel
from gpushare.model.kernel_model import KernelModel, number, require, require_name, whole
from gpushare.model.launch_geometry import Extent
from gpushare.model.service_level import Terms
from gpushare.model.workload import PRIORITIES
from gpushare.policy import Policy, own_policy, policy_name
from gpushare.results.run import Run
from gpushare.session.application import SessionApplication, permitted_priority, require_permitted_latency
from gpushare.session.device import session_device
from gpushare.session.fork_safety import ends_here
from gpushare.session.job import DEFAULT_TIMEOUT_S, Job, UnfinishedJobs
from gpushare.session.run import begun_work, decided_by


class Session:
    """Applications of this process share a GPU under a policy.

    Kernels are made preemptible and scheduled by a thread of their own, which never holds the GIL (unless the policy
    is written in Python). One session at a time per GPU and process.

    On a simulated device launches take the time that their model says, and compute nothing: arrays live in host memory
    and keep what they hold, and arguments are not looked at. Its time is the wall clock's, as far as simulating keeps
    up with that.

    Args:
        device: ``"cuda:0"`` for a GPU, or a simulated one, as :func:`gpushare.device` knows it.
        policy: the name of a built-in policy that is no oracle, or an instance of your own.
        ordering: whose operations go next, before the policy says who runs where: a name that :func:`gpushare.compare`
            takes before a ``+``, such as ``"cumas:kernels=2"``; it stays as long as the session.
        measure_alone: when the session is finished, run every application's launches again, original kernels with
            nobody else there, so that the run has metrics; the arrays get back what the jobs have written. Until then
            the session keeps all arrays alive. Without it times alone count as 1 ns.
        highest_priority: the highest that an application may ask for; None: any. Priorities are the business of
            whoever opens the session, as on Linux those above the default are of the superuser: hand
            ``session.application`` to others after setting this.
        speed: on a simulated device, seconds that pass there in one second.
        keeps_record: False for a session without an end, which cannot be finished: what is over is forgotten.

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
    ) -> None:
        owned = own_policy(policy)
        require(isinstance(ordering, str), f"ordering must be a name, got {ordering!r}")
        _core.require_open_ordering(ordering)
        if highest_priority is not None:
            whole("highest_priority", highest_priority, *PRIORITIES)
        self._highest_priority = highest_priority
        self._on = session_device(device, speed)
        self.device = self._on.device
        self.policy = policy
        self.ordering = ordering
        self._policies = [policy_name(policy)]
        self._measure_alone = measure_alone
        self._keeps_record = keeps_record
        self._core = self._on.open(owned, ordering, keeps_record=keeps_record)
        self._applications: list[SessionApplication] = []
        self._jobs = UnfinishedJobs()
        self._finished = False
        self._lock = threading.Lock()
        ends_here(self)

    def application(
        self,
        name: str,
        priority: int = 0,
        weight: float = 1.0,
        deadline_ns: float | None = None,
        min_speed: float | None = None,
        latency_ns: float | None = None,
    ) -> SessionApplication:
        """A new application; it arrives with its first launch.

        Args:
            name: unique within the session.
            priority: larger is more urgent.
            weight: share of the GPU, for weighted policies.
            deadline_ns: when it should have ended, in nanoseconds after its first launch. A first launch that misses
                it even alone, by its profile, is refused; whether others do, ``status`` and the run say.
            min_speed: the share of its speed alone that it has to keep beside others, at most 1.
            latency_ns: when each of its launches should have ended, in nanoseconds after it was submitted; refused as a
                deadline is. They go first where it takes that: for who may ask for a priority above 0.

        Raises:
            InvalidInput: the name is taken, the priority is above the session's ``highest_priority``, or that is not
                above 0 and a latency bound is asked for.
            PolicyError: the session's policy has no use for this priority.
        """
        self._require_open()
        require_name("an application's name", name)
        terms = Terms(weight, deadline_ns, min_speed, latency_ns).checked(f"application {name!r}")
        require_permitted_latency(name, latency_ns, self._highest_priority)
        with self._lock:
            taken = [each.name for each in self._applications]
            require(name not in taken, f"the session has an application {name!r} already: take another name")
            priority = permitted_priority(name, priority, self._highest_priority, self.policy)
            application = SessionApplication(self, name, priority, terms)
            self._applications.append(application)
        return application

    def array(self, values: Any) -> DeviceArray:
        """A copy of host values in device memory."""
        return self._on.array(values)

    def zeros(self, shape: int | tuple[int, ...], dtype: Any = np.float32) -> DeviceArray:
        """Zeroed device memory."""
        return self._on.zeros(shape, dtype)

    def load(self, kernel: Kernel) -> None:
        """Compiles the kernel and loads it now rather than at its first launch: meanwhile, others stand still."""
        self._require_open()
        self._on.load(kernel)

    def variable(self, kernel: Kernel, name: str, dtype: Any = None, shape: Any = None) -> DeviceArray:
        """A variable of the kernel's source in device memory, as an array in its place; docs/guide/kernels.md.

        The session has one copy of it for all kernels of the source. Wait for the jobs that use it.

        Args:
            kernel: one of the source's.
            name: in C++, such as ``"ns::coefficient"`` or the end of that, or its symbol.
            dtype: what it is made of: without it arrays and structs of CUDA C++ are bytes.
            shape: of so many elements.

        Raises:
            InvalidInput: there is no such variable (the message lists those there are), or it has another size.
        """
        self._require_open()
        require(isinstance(kernel, Kernel), f"a variable is of a gs.Kernel's source, got {kernel!r}")
        return self._on.variable(kernel, name, dtype, shape)

    def set_policy(self, policy: str | Policy) -> None:
        """Another policy decides from now on; it is told what is going on, and nothing of what the last one learnt.

        Raises:
            InvalidInput: there is no such policy, or it is an oracle.
            PolicyError: it cannot serve an application that is there, or does not get along with what is going on. The
                last one goes on then.
        """
        self._require_open()
        owned, name = own_policy(policy), policy_name(policy)
        with self._lock:  # nobody comes meanwhile whom the next one cannot serve
            for each in self._applications:  # the core asks for those that it knows
                if each._number is None and isinstance(policy, str):
                    _core.require_priority(policy, each.name, each.priority)
            self._core.set_policy(owned)
            self.policy = policy
            self._policies.append(name)

    def status(self) -> SessionStatus:
        """What is going on at this moment: applications that have launched something and have not been cancelled.

        >>> import gpushare as gs
        >>> model = gs.KernelModel("long", threads=128, latency_ns=1_000_000_000)
        >>> with gs.Session("sim:gtx480", "fifo") as session:
        ...     job = session.application("alice").submit(model, grid=2, block=128)
        ...     (alice,) = session.status().applications
        >>> alice.name, alice.kernel, alice.blocks, alice.done, alice.quota
        ('alice', 'long', 2, 0, '8')
        """
        self._require_open()
        return self._core.status()

    def history(self, seconds: float) -> SessionPast:
        """What the last seconds brought: launches, quotas and SMs; of a session that keeps no record."""
        return self._core.history(round(number("seconds", seconds, 0, 1e6) * 1e9))

    def finish(self, timeout: float = DEFAULT_TIMEOUT_S) -> Run:
        """Waits for all jobs and ends the session.

        Of an application that was cancelled the run has the launches that had begun. How long they would have taken
        alone, nobody knows: it counts as undisturbed.

        Args:
            timeout: in seconds.

        Raises:
            DeviceError: a job failed, or did not end in time; the message names its application. On a GPU a CudaError.
            InvalidInput: nothing was submitted; or the timeout is none, and the session stays open.
        """
        self._require_open()
        timeout = number("timeout", timeout, 0, 1e6)
        require(self._keeps_record, "this session keeps no record that it could be finished with: close it")
        with self._lock:
            self._require_open()
            busy = sorted((each for each in self._applications if each._launches), key=lambda each: each._number or 0)
            require(len(busy) > 0, "nothing was submitted to this session")
            self._finished = True  # and nobody submits any more
        try:
            done, record = self._core.finish(self.device.description, timeout)
        except _core.DeviceError:
            self._end()
            raise
        except KeyboardInterrupt:
            self._finished = False  # all goes on, until somebody closes it
            raise
        try:
            workload, alone = begun_work(busy, done, record, self._alone_ns)
        finally:
            self._end()
        policy, measured = decided_by(self.ordering, self._policies), self._on.conditions(workload, done)
        return Run(workload, policy, self.device.description, 0, alone, record, measured=measured)

    def _alone_ns(self, application: SessionApplication) -> int:
        return self._on.alone_ns(application.name, application._launches) if self._measure_alone else 1

    def _require_open(self) -> None:
        self._core.require_other_thread()
        require(not self._finished, "the session has been finished: open another one")

    def close(self) -> None:
        """Ends the session without waiting: what runs stops at the next block boundary."""
        was_finished, self._finished = self._finished, True
        self._core.close()  # also where another thread waits in finish()
        if was_finished:
            self._on.check()
        else:
            self._end()

    def _end(self) -> None:
        """Lets go of the device, and of what keeps the session's copies of variables."""
        self._on.check()
        self._on.forget()
        for each in self._applications:
            each._launches = []

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _submit(
        self,
        application: SessionApplication,
        kernel: Kernel | KernelModel,
        grid: int | Extent,
        block: int | Extent,
        args: Sequence[Any],
        shared_bytes: int,
    ) -> Job:
        self._require_open()
        if not isinstance(args, list | tuple):
            raise InvalidInput(f"args must be a list, one value per parameter, got {args!r}")
        submitted = self._on.launch(kernel, grid, block, shared_bytes, args, keeps=self._measure_alone)
        with self._lock:
            self._require_open()
            application._register(self._core, submitted.core)
            # In one go, so that the list is in the order of the numbers.
            job_number = self._core.submit(application._number, submitted.core, submitted.program)
            if self._keeps_record:
                application._launches.append(submitted)
        job = Job(self, job_number, f"{kernel.name!r} of {application.name!r}", args)
        self._jobs.add(job)
        return job

    def _set_priority(self, application: SessionApplication, priority: int) -> None:
        self._require_open()
        with self._lock:
            priority = permitted_priority(application.name, priority, self._highest_priority, self.policy)
            if application._number is not None and not application._cancelled:
                self._core.set_priority(application._number, priority)
            application._priority = priority

    def _cancel(self, application: SessionApplication) -> None:
        self._require_open()
        with self._lock:
            application._cancelled = True
            if application._number is not None:
                self._core.withdraw(application._number)
            if not self._keeps_record and application in self._applications:
                self._applications.remove(application)
