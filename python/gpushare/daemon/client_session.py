# SPDX-License-Identifier: Apache-2.0
"""A session with the server: what :func:`gpushare.connect` returns."""

from __future__ import annotations

import itertools
import os
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from gpushare.daemon.arena import Arena
from gpushare.daemon.client_application import DaemonApplication
from gpushare.daemon.client_array import ArrayState, DaemonArray
from gpushare.daemon.client_job import DaemonJob, Submission
from gpushare.daemon.errors import WorkerLostError, with_source
from gpushare.daemon.limits import WELCOME_TIMEOUT_S
from gpushare.daemon.link import Link
from gpushare.daemon.recovery import replay
from gpushare.daemon.registered import Registered
from gpushare.daemon.replay import ReplayLog
from gpushare.device_array import _extent
from gpushare.job import DEFAULT_TIMEOUT_S
from gpushare.kernel import Kernel
from gpushare.kernel_model import KernelModel, number, require, require_name, whole
from gpushare.launch_geometry import Extent, block_of, grid_of
from gpushare.operation import MOST_SHARED_BYTES
from gpushare.workload import DEADLINES_NS, PRIORITIES, WEIGHTS

PAUSE_S = 0.1
MOST_WORKERS_ASKED = 3
_open: weakref.WeakSet[DaemonSession] = weakref.WeakSet()


class DaemonSession:
    """Applications of this process share a GPU with those of others. Any thread may use it.

    If the worker that holds the GPU is lost, the session connects again by itself. A forked process that uses it gets a
    connection of its own; arrays, applications' jobs and jobs stay with the process that made them.
    """

    def __init__(self, path: Path, device: str | None, trusted_uids: Sequence[int] | None, patience_s: float) -> None:
        self._path = path
        self._wanted_device = device
        self._trusted_uids = trusted_uids
        self._patience_s = patience_s
        self._names: set[str] = set()
        self._closed = False
        self._start_anew()
        self._connected()
        _open.add(self)

    def _start_anew(self) -> None:
        """Also after a fork: what there was is the parent's."""
        self._lock = threading.RLock()
        self._registered: Registered | None = None
        self._log = ReplayLog()
        self._numbers = itertools.count()
        self._jobs: weakref.WeakSet[DaemonJob] = weakref.WeakSet()

    @property
    def device(self) -> str:
        """The name of the server's device."""
        return self._ask(lambda registered: registered.link.welcome["device"])

    @property
    def policy(self) -> str:
        """The server's, now."""
        return self.status()["policy"]

    def application(
        self, name: str, priority: int = 0, weight: float = 1.0, deadline_ns: float | None = None
    ) -> DaemonApplication:
        """A new application; it arrives with its first launch.

        Args:
            name: unique within this session; another process may use the same.
            priority: larger is more urgent.
            weight: share of the GPU, for weighted policies.
            deadline_ns: when it should have ended, in nanoseconds after its first launch.

        Raises:
            InvalidInput: the name is taken, or a value is out of range.
            RefusedError: the server's configuration does not permit this priority.
        """
        require_name("an application's name", name)
        require(name not in self._names, f"the session has an application {name!r} already: take another name")
        priority = whole(f"application {name!r}: priority", priority, *PRIORITIES)
        number(f"application {name!r}: weight", weight, *WEIGHTS)
        if deadline_ns is not None:
            number(f"application {name!r}: deadline_ns", deadline_ns, *DEADLINES_NS)
        application = DaemonApplication(self, name, priority, weight, deadline_ns)
        self._ask(lambda registered: registered.application(application))
        self._names.add(name)
        return application

    def array(self, values: Any, *, durable: bool = False) -> DaemonArray:
        """A copy of host values in device memory; ``durable`` arrays are there again after the loss of a worker."""
        host = np.ascontiguousarray(values).reshape(np.shape(values))
        state = self._allocated(host.shape, host.dtype, durable)
        array = DaemonArray(self, state)
        self._upload(state, host)
        return array

    def zeros(self, shape: int | tuple[int, ...], dtype: Any = np.float32, *, durable: bool = False) -> DaemonArray:
        """Zeroed device memory; it waits until others have freed enough."""
        state = self._allocated(_extent(shape), np.dtype(dtype), durable)
        self._log.uploaded(state, None)
        return DaemonArray(self, state)

    def load(self, kernel: Kernel) -> None:
        """Compiles the kernel and loads it now rather than at its first launch."""
        with with_source(kernel.text):
            self._ask(lambda registered: registered.link.request("load", kernel=registered.kernel(kernel)))

    def status(self) -> dict[str, Any]:
        """What goes on in the server: memory, clients, applications of all of them."""
        return self._ask(lambda registered: registered.link.request("status"))

    def set_policy(self, policy: str) -> None:
        """Another policy for everybody; for the server's operators."""
        self._ask(lambda registered: registered.link.request("policy", policy=policy))

    def set_priority(self, application: str, priority: int) -> str:
        """Another priority for anybody's application, by the name in the status; for the server's operators."""
        fields = {"application": application, "priority": priority}
        return self._ask(lambda registered: registered.link.request("priority", **fields))

    def trace(self, seconds: float) -> bytes:
        """What the server did in its last seconds, for ui.perfetto.dev; for the server's operators."""
        reply = self._connected().link.begin("trace", seconds=float(seconds))
        size = reply.result()
        arena = Arena.received(reply.descriptors.pop(), size)
        try:
            return arena.view[:size]
        finally:
            arena.close()

    def finish(self, timeout: float = DEFAULT_TIMEOUT_S) -> None:
        """Waits for all jobs of this session, and ends it. There is no run to return: others go on.

        Raises:
            TimeoutError: a job has not ended in time.
            CudaError: a job has failed.
        """
        self._require_open()
        deadline = time.monotonic() + number("timeout", timeout, 0, 1e6)
        try:
            for job in list(self._jobs):
                job.result(max(deadline - time.monotonic(), 0))
        finally:
            self.close()

    def close(self) -> None:
        """Ends the session without waiting: what runs stops at the next block boundary."""
        with self._lock:
            self._closed = True
            registered, self._registered = self._registered, None
        if registered is not None:
            registered.link.close()
            registered.close()

    def __enter__(self) -> DaemonSession:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _require_open(self) -> None:
        require(not self._closed, "the session has been finished: open another one")

    def _connected(self) -> Registered:
        """The link to the worker there is now; what was lost with another has been done again."""
        with self._lock:
            self._require_open()
            if self._registered is None or self._registered.link.lost is not None:
                if self._registered is not None:
                    self._registered.close()
                self._registered = self._connect()
            return self._registered

    def _ask(self, ask: Callable[[Registered], Any]) -> Any:
        """What can be asked of the next worker as well, if this one is lost meanwhile."""
        for _ in range(MOST_WORKERS_ASKED - 1):
            registered = self._connected()
            try:
                return ask(registered)
            except WorkerLostError:
                if registered.link.lost is None:
                    raise  # something else is lost
        return ask(self._connected())

    def _connect(self) -> Registered:
        deadline = time.monotonic() + WELCOME_TIMEOUT_S
        while True:
            try:
                registered = Registered(Link(self._path, self._wanted_device, self._trusted_uids, self._lost))
                replay(self._log, registered, self._numbers, self._patience_s)
                return registered
            except WorkerLostError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(PAUSE_S)

    def _lost(self, link: Link) -> None:
        """Idempotent jobs are run again although nobody asks for anything."""
        if isinstance(link.lost, WorkerLostError) and self._log.has_unfinished:
            threading.Thread(target=self._recover, name="gpushare recovery", daemon=True).start()

    def _recover(self) -> None:
        try:
            self._connected()
        except Exception as error:  # who waits for a job must hear of it
            for job in list(self._jobs):
                job.settle(error)

    def _allocated(self, shape: tuple[int, ...], dtype: np.dtype, durable: bool) -> ArrayState:
        require(not dtype.hasobject, f"a GPU cannot hold Python objects: dtype {dtype}")
        state = ArrayState(shape, dtype, is_durable=durable)
        self._ask(lambda registered: state.allocate(registered, self._patience_s))
        return state

    def _upload(self, state: ArrayState, host: np.ndarray) -> None:
        def upload(registered: Registered) -> None:
            if not state.is_on(registered):
                state.allocate(registered, self._patience_s)  # it was lost, and comes back with its new content
            if host.size > 0:
                registered.write(state.handle_on(registered), host)

        state.require_kept()
        self._ask(upload)
        self._log.uploaded(state, host)

    def _download(self, state: ArrayState) -> np.ndarray:
        host = np.empty(state.shape, state.dtype)

        def download(registered: Registered) -> None:
            handle = state.handle_on(registered)
            if host.size > 0:
                registered.read(handle, host)

        state.require_kept()
        self._ask(download)
        self._log.downloaded(state, host)
        return host

    def _submit(
        self,
        application: DaemonApplication,
        kernel: Kernel | KernelModel,
        grid: int | Extent,
        block: int | Extent,
        args: Sequence[Any],
        shared_bytes: int,
        idempotent: bool,
    ) -> DaemonJob:
        self._require_open()
        require(isinstance(args, list | tuple), f"args must be a list, one value per parameter, got {args!r}")
        submission = Submission(
            application, kernel, _shape_of(kernel, grid, block, shared_bytes), [_state_of(each) for each in args]
        )
        with self._lock:  # numbers go out in order
            registered = self._connected()
            job = DaemonJob(submission, is_replayable=self._log.can_replay(submission.arrays, idempotent))
            if job.is_replayable:
                self._log.submitted(job)
            try:
                job.submit_on(registered, next(self._numbers))
            except WorkerLostError:
                if not job.is_replayable:
                    raise
                self._lost(registered.link)  # it is in the log, and is run as soon as there is a worker
            except BaseException:
                if job.is_replayable:
                    self._log.refused(job)
                raise
            self._jobs.add(job)
        return job


def _state_of(value: Any) -> Any:
    if not isinstance(value, DaemonArray):
        return value
    value._state.require_kept()
    return value._state


def _shape_of(kernel: Any, grid: Any, block: Any, shared_bytes: int) -> dict[str, Any]:
    require(
        isinstance(kernel, Kernel | KernelModel), f"launch: kernel must be a KernelModel or a Kernel, got {kernel!r}"
    )
    subject = f"launch of {kernel.name!r}"
    return {
        "grid": list(grid_of(f"{subject}: grid", grid)),
        "block": list(block_of(f"{subject}: block", block)),
        "shared_bytes": whole(f"{subject}: shared_bytes", shared_bytes, 0, MOST_SHARED_BYTES),
    }


def _start_all_anew() -> None:
    for session in list(_open):
        session._start_anew()


os.register_at_fork(after_in_child=_start_all_anew)
