# SPDX-License-Identifier: Apache-2.0
"""Sessions: applications of one process share a GPU under a policy, launch by launch as they come."""

from __future__ import annotations

import copy
import statistics
import threading
import weakref
from collections.abc import Sequence
from types import TracebackType
from typing import Any

import numpy as np

from gpushare import _core
from gpushare._core import HardwareSharing, InvalidInput
from gpushare.cuda_device import CudaDevice, cuda_device, give_up_if_broken
from gpushare.device_array import DeviceArray, Kept, allocate, from_host
from gpushare.job import DEFAULT_TIMEOUT_S, Job, Submitted
from gpushare.kernel import Kernel
from gpushare.kernel_model import number, require, require_name, whole
from gpushare.launch_geometry import Extent
from gpushare.measured import Measured
from gpushare.policy import Policy, policy_name
from gpushare.run import Run
from gpushare.workload import DEADLINES_NS, PRIORITIES, WEIGHTS, Application, Launch, Workload

ALONE_REPEATS = 3


class SessionApplication:
    """An application of a session: its launches run one after the other. Made by :meth:`Session.application`."""

    def __init__(
        self, session: Session, name: str, priority: int, weight: float, deadline_ns: float | None = None
    ) -> None:
        self.name = name
        self._priority = priority
        self.weight = weight
        self.deadline_ns = deadline_ns
        self._session = session
        self._number: int | None = None
        self._launches: list[Submitted] = []

    @property
    def priority(self) -> int:
        """Larger is more urgent, for policies that look at it."""
        return self._priority

    def submit(
        self,
        kernel: Kernel,
        *,
        grid: int | Extent,
        block: int | Extent,
        args: Sequence[Any] = (),
        shared_bytes: int = 0,
    ) -> Job:
        """Submits a launch and returns at once.

        Args:
            kernel: what runs.
            grid: blocks, an int or up to three, x first.
            block: threads per block, likewise.
            args: one per parameter: arrays in device memory (of this session, PyTorch, CuPy, Numba) for pointers,
                numbers for values.
            shared_bytes: dynamic shared memory per block.

        Raises:
            InvalidInput: an argument, the grid or the block cannot be; the message names it.
            CudaError: the session has failed.
        """
        return self._session._submit(self, kernel, grid, block, args, shared_bytes)


class Session:
    """Applications of this process share a GPU under a policy.

    Kernels are made preemptible and scheduled by a thread of their own, which never holds the GIL (unless the policy
    is written in Python). One session at a time per GPU and process.

    Args:
        device: ``"cuda:0"``.
        policy: the name of a built-in policy, or an instance of your own.
        measure_alone: when the session is finished, run every application's launches again, original kernels with
            nobody else there, so that the run has metrics; the arrays get back what the jobs have written. Until then
            the session keeps all arrays alive. Without it times alone count as 1 ns.
        highest_priority: the highest that an application may ask for; None: any. Priorities are the business of
            whoever opens the session, as on Linux those above the default are of the superuser: hand
            ``session.application`` to others after setting this.

    >>> import gpushare as gs
    >>> with gs.Session("cuda:0", policy="srtf") as session:  # doctest: +SKIP
    ...     alice, bob = session.application("alice"), session.application("bob")
    ...     x = session.array(np.ones(1000, np.float32))
    ...     job = alice.submit(kernel, grid=4, block=256, args=[x, 2.0, 1000])
    ...     job.result()
    ...     run = session.finish()
    """

    def __init__(
        self,
        device: str = "cuda:0",
        policy: str | Policy = "srtf",
        *,
        measure_alone: bool = True,
        highest_priority: int | None = None,
    ) -> None:
        if not isinstance(policy, str | Policy):
            raise InvalidInput(f"a policy must be a name or an instance of gpushare.Policy, got {policy!r}")
        if highest_priority is not None:
            whole("highest_priority", highest_priority, *PRIORITIES)
        self._highest_priority = highest_priority
        self.device: CudaDevice = cuda_device(device)
        self.policy = policy
        self._measure_alone = measure_alone
        self._core = _core.CoreSession(self.device.core, policy if isinstance(policy, str) else copy.deepcopy(policy))
        self._applications: list[SessionApplication] = []
        self._jobs: list[Job] = []
        self._finished = False
        self._lock = threading.Lock()
        weakref.finalize(self, self._core.close)  # also when the process ends

    def application(
        self, name: str, priority: int = 0, weight: float = 1.0, deadline_ns: float | None = None
    ) -> SessionApplication:
        """A new application; it arrives with its first launch.

        Args:
            name: unique within the session.
            priority: larger is more urgent.
            weight: share of the GPU, for weighted policies.
            deadline_ns: when it should have ended, in nanoseconds after its first launch.

        Raises:
            InvalidInput: the name is taken, or the priority is above the session's ``highest_priority``.
            PolicyError: the session's policy has no use for this priority.
        """
        require_name("an application's name", name)
        taken = [each.name for each in self._applications]
        require(name not in taken, f"the session has an application {name!r} already: take another name")
        application = SessionApplication(
            self,
            name,
            self._permitted(name, priority),
            number(f"application {name!r}: weight", weight, *WEIGHTS),
            None if deadline_ns is None else number(f"application {name!r}: deadline_ns", deadline_ns, *DEADLINES_NS),
        )
        self._applications.append(application)
        return application

    def _permitted(self, name: str, priority: int) -> int:
        priority = whole(f"application {name!r}: priority", priority, *PRIORITIES)
        most = self._highest_priority
        require(
            most is None or priority <= most,
            f"application {name!r}: priority {priority} is above {most}, the highest that this session permits: "
            "whoever opened it said Session(highest_priority=...)",
        )
        if isinstance(self.policy, str):
            _core.require_priority(self.policy, name, priority)
        return priority

    def array(self, values: Any) -> DeviceArray:
        """A copy of host values in device memory."""
        return from_host(self.device.core, values)

    def zeros(self, shape: int | tuple[int, ...], dtype: Any = np.float32) -> DeviceArray:
        """Zeroed device memory."""
        return allocate(self.device.core, shape, dtype)

    def load(self, kernel: Kernel) -> None:
        """Compiles the kernel and loads it now rather than at its first launch: loading waits for running kernels."""
        self._require_open()
        self.device.load(kernel)

    def finish(self, timeout: float = DEFAULT_TIMEOUT_S) -> Run:
        """Waits for all jobs and ends the session.

        Args:
            timeout: in seconds.

        Raises:
            CudaError: a job failed, or did not end in time; the message names its application.
            InvalidInput: nothing was submitted.
        """
        self._require_open()
        busy = [each for each in self._applications if each._launches]
        require(len(busy) > 0, "nothing was submitted to this session")
        busy.sort(key=lambda each: each._number or 0)
        self._finished = True
        try:
            done, record = self._core.finish(self.device.core, number("timeout", timeout, 0, 1e6))
        except _core.CudaError:
            give_up_if_broken(self.device)
            raise
        alone = {each.name: self._alone_ns(each) if self._measure_alone else 1 for each in busy}
        arrived = [
            Application(
                each.name,
                tuple(each_launch.launch for each_launch in each._launches),
                arrival_ns=start,
                priority=each.priority,
                weight=each.weight,
                deadline_ns=each.deadline_ns,
            )
            for each, start in zip(busy, record.arrivals, strict=True)
        ]
        workload = Workload("session", tuple(arrived))
        measured = Measured.now(self.device, workload, done)
        policy = policy_name(self.policy)
        return Run(workload, policy, self.device.description, 0, alone, record, measured=measured)

    def _require_open(self) -> None:
        require(not self._finished, "the session has been finished: open another one")

    def close(self) -> None:
        """Ends the session without waiting: what runs stops at the next block boundary."""
        if self._finished:
            return
        self._finished = True
        self._core.close()
        give_up_if_broken(self.device)

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _submit(
        self,
        application: SessionApplication,
        kernel: Kernel,
        grid: int | Extent,
        block: int | Extent,
        args: Sequence[Any],
        shared_bytes: int,
    ) -> Job:
        self._require_open()
        require(isinstance(args, list | tuple), f"args must be a list, one value per parameter, got {args!r}")
        launch = Launch(kernel, grid=grid, block=block, shared_bytes=shared_bytes)
        code = self.device.load(kernel)
        packed = self.device.compiled(kernel).pack(args)
        program = _core.CudaProgram()
        program.add_launch(code, launch.grid, launch.block, launch.shared_bytes, packed)
        core = _core.Launch(self.device.model(launch), launch.blocks)
        with self._lock:
            if application._number is None:
                deadline_ns = None if application.deadline_ns is None else round(application.deadline_ns)
                application._number = self._core.add(
                    application.name, application.priority, application.weight, deadline_ns
                )
        job_number = self._core.submit(application._number, core, program)
        kept = args if self._measure_alone else ()
        application._launches.append(Submitted(launch, core, program, kept))
        job = Job(self, job_number, f"{kernel.name!r} of {application.name!r}", args)
        self._jobs = [each for each in self._jobs if each._arguments is not None]
        self._jobs.append(job)
        return job

    def _alone_ns(self, application: SessionApplication) -> int:
        """The launches again, one after the other; what they write is put back."""
        program = _core.CudaProgram()
        arrays = {}
        for submitted in application._launches:
            program.extend(submitted.program)
            arrays |= {id(each): each for each in submitted.arguments if hasattr(each, "__cuda_array_interface__")}
        kept = [Kept(self.device.core, array) for array in arrays.values()]
        operations = [submitted.core for submitted in application._launches]
        workload = _core.CoreWorkload("alone", [_core.Application(application.name, operations)])
        times = []
        for _ in range(ALONE_REPEATS):
            record = _core.run_as_hardware_does(self.device.core, program, workload, HardwareSharing.STREAMS)
            times.append(record.ends[0] - record.arrivals[0])
            for each in kept:
                each.put_back()
        return round(statistics.median(times))
