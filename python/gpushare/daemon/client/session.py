# SPDX-License-Identifier: Apache-2.0
"""Sessions with the server, as :func:`gpushare.connect` returns them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
from typing_extensions import override

from gpushare.arguments.device_array import _extent
from gpushare.arguments.on_device import host_array
from gpushare.checks import MOST_BYTES, number, require, require_name, whole
from gpushare.daemon.client.application import DaemonApplication
from gpushare.daemon.client.array import ArrayState, DaemonArray
from gpushare.daemon.client.connection import Connection
from gpushare.daemon.client.greeting import Wish
from gpushare.daemon.client.job import DaemonJob, Submission
from gpushare.daemon.client.pinned_arrays import pinned_array
from gpushare.daemon.client.registrations import Registered
from gpushare.daemon.client.reply import Reply
from gpushare.daemon.client.status import DaemonStatus
from gpushare.daemon.client.variable import found_variable
from gpushare.daemon.errors import with_source
from gpushare.daemon.protocol.arena import Arena
from gpushare.daemon.protocol.client_history import ClientHistory
from gpushare.daemon.protocol.wire import unpacked
from gpushare.kernels.kernel import Kernel
from gpushare.model.service_level import Terms
from gpushare.model.workload import PRIORITIES
from gpushare.session.api import FINISH_TIMEOUT_S, SessionApi, Unopened
from gpushare.session.submission_forms import Launched


class DaemonSession(SessionApi):
    """Applications of this process share a GPU with those of others. Any thread may use it.

    If the worker that holds the GPU is lost, the session connects to the next one automatically. A forked process that
    uses it gets its own connection; arrays, applications' jobs and jobs stay with the process that made them.
    """

    def __init__(self, path: Path, wish: Wish, trusted_uids: Sequence[int] | None, patience_s: float) -> None:
        self._where = path, wish, trusted_uids, patience_s
        self._names: set[str] = set()
        self._connection = cast("Connection", Unopened(self, "_connection"))
        super().__init__()

    @override
    def _open(self) -> None:
        self._connection = Connection(*self._where)

    @property
    def device(self) -> str:
        """The name of the server's device on which its applications are."""
        return self._connection.ask(lambda registered: registered.link.welcome["device"])

    @property
    def devices(self) -> tuple[str, ...]:
        """This one device, also where the server has several."""
        return (self.device,)

    @property
    def devices_of_server(self) -> list[str]:
        """The names of all devices of the server."""
        return self._connection.ask(lambda registered: registered.link.welcome["devices"])

    @property
    def policy(self) -> str:
        """The server's present policy."""
        return self.status()["policy"]

    @property
    def ordering(self) -> str:
        """The server's ordering, which does not change."""
        return self.status()["ordering"]

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
    ) -> DaemonApplication:
        require_name("an application's name", name)
        if device is not None:
            whole(f"application {name!r}: device", device, 0, 0)
        if memory_bytes is not None:
            self._require_memory(name, whole(f"application {name!r}: memory_bytes", memory_bytes, 0, MOST_BYTES))
        require(name not in self._names, f"the session has an application {name!r} already: take another name")
        priority = whole(f"application {name!r}: priority", priority, *PRIORITIES)
        terms = Terms(weight, deadline_ns, min_speed, latency_ns).checked(f"application {name!r}")
        application = DaemonApplication(self, name, priority, terms)
        self._connection.ask(lambda registered: registered.application(application))
        self._names.add(name)
        return application

    def _require_memory(self, name: str, count: int) -> None:
        total = self.status()["memory"]["total_bytes"]
        require(count <= total, f"application {name!r} needs {count} bytes of memory, and {self.device} has {total}")

    def array(self, values: Any, *, durable: bool = False, shared: bool = False) -> DaemonArray:
        """Copies host values to device memory.

        Args:
            values: array-like, of any numeric type and shape.
            durable: whether it is restored after the loss of a worker.
            shared: whether PyTorch, CuPy and Numba of this process can use it without a copy. It takes whole units of 2
                MiB.
        """
        host = host_array(values)
        state = self._allocated(host.shape, host.dtype, durable, shared)
        array = DaemonArray(self, state)
        self._upload(state, host)
        return array

    @override
    def zeros(
        self, shape: int | tuple[int, ...], dtype: Any = np.float32, *, durable: bool = False, shared: bool = False
    ) -> DaemonArray:
        state = self._allocated(_extent(shape), np.dtype(dtype), durable, shared)
        self._connection.log.uploaded(state, None)
        return DaemonArray(self, state)

    def pinned_array(self, shape: int | tuple[int, ...], dtype: Any = np.float32) -> np.ndarray:
        """Zeroed host memory for copies without an intermediate buffer: ``x.upload(pinned)``, ``x.numpy(pinned)``.

        The server maps it, and pins it at its first use. A process that is forked shares it.
        """
        return pinned_array(_extent(shape), np.dtype(dtype))

    @override
    def load(self, kernel: Kernel) -> None:
        with with_source(kernel.text):
            self._connection.ask(lambda registered: registered.load(kernel))

    @override
    def variable(self, kernel: Kernel, name: str, dtype: Any = None, shape: Any = None) -> DaemonArray:
        require(isinstance(kernel, Kernel), f"a variable is of a gs.Kernel's source, got {kernel!r}")
        require(isinstance(name, str), f"kernel {kernel.name!r}: a variable's name must be a text, got {name!r}")
        with with_source(kernel.text):
            ask = partial(found_variable, kernel=kernel, name=name, dtype=dtype, shape=shape)
            return DaemonArray(self, self._connection.ask(ask))

    def status(self) -> DaemonStatus:
        """The server's state: memory, clients, and the applications of all clients."""
        answer = self._asked("status")
        return DaemonStatus(unpacked(answer) if isinstance(answer, bytes) else answer)

    def metrics(self) -> dict[str, Any]:
        """Counters per application and user, which outlive their clients, as ``/metrics`` of the server shows them."""
        answer = self._asked("metrics")
        return unpacked(answer) if isinstance(answer, bytes) else answer

    @override
    def history(self, seconds: float, *, of_all: bool = False) -> ClientHistory:
        """What the applications of this session did in the last ``seconds``.

        Args:
            seconds: length of the window until now.
            of_all: the applications of all clients; for the server's operators.
        """
        return ClientHistory(self._asked("history", seconds=number("seconds", seconds, 0, 1e6), of_all=of_all))

    @override
    def set_policy(self, policy: str) -> None:
        self._connection.ask(lambda registered: registered.link.request("policy", policy=policy))

    def set_priority(self, application: str, priority: int) -> str:
        """Changes the priority of any application, by its name in the status; for the server's operators."""
        return self._connection.ask(
            lambda registered: registered.link.request("priority", application=application, priority=priority)
        )

    def trace(self, seconds: float, until: float = 0.0, *, part: int = 0) -> bytes:
        """A trace of the server for ui.perfetto.dev; for the server's operators.

        Args:
            seconds: start of the trace, in seconds before now.
            until: end of the trace, in seconds before now.
            part: the number of this device, from 1, in a trace of several: the parts one after the other.
        """
        return self._asked("trace", seconds=float(seconds), until_s=float(until), part=part)

    def _asked(self, verb: str, **fields: Any) -> Any:
        """The answer; bytes, where it arrives in a shared file."""

        def fetch(registered: Registered) -> tuple[int, Reply]:
            reply = registered.link.begin(verb, **fields)
            return reply.result(), reply

        answer, reply = self._connection.ask(fetch)
        if not reply.descriptors:
            return answer
        arena = Arena.received(reply.descriptors.pop(), answer)
        try:
            return arena.view[:answer]
        finally:
            arena.close()

    def finish(self, timeout: float = FINISH_TIMEOUT_S) -> None:
        """Waits for all jobs of this session and ends it. It returns no run: the server's session goes on.

        Raises:
            TimeoutError: a job has not ended in time.
            CudaError: a job has failed.
        """
        self._connection.require_open()
        deadline = time.monotonic() + number("timeout", timeout, 0, 1e6)
        try:
            for job in self._connection.jobs:
                job.result(max(deadline - time.monotonic(), 0))
        finally:
            self.close()

    @override
    def close(self) -> None:
        self._finished = True
        if self._is_open:
            self._connection.close()

    def _allocated(self, shape: tuple[int, ...], dtype: np.dtype, durable: bool, shared: bool) -> ArrayState:
        require(not dtype.hasobject, f"a GPU cannot hold Python objects: dtype {dtype}")
        require(not (durable and shared), "an array is durable or shared: a shared one is lost with its worker")
        state = ArrayState(shape, dtype, is_durable=durable, is_shared=shared)
        self._connection.ask(lambda registered: state.allocate(registered, self._connection.patience_s))
        return state

    def _upload(self, state: ArrayState, host: np.ndarray) -> None:
        def upload(registered: Registered) -> None:
            if not state.is_on(registered) and not state.is_shared:  # it was lost, and is restored with its new content
                state.allocate(registered, self._connection.patience_s)
            if host.size > 0:
                registered.write(state.handle_on(registered), host)

        state.require_kept()
        self._connection.ask(upload)
        self._connection.log.uploaded(state, host)

    def _download(self, state: ArrayState, host: np.ndarray) -> np.ndarray:

        def download(registered: Registered) -> None:
            handle = state.handle_on(registered)
            if host.size > 0:
                registered.read(handle, host)

        state.require_kept()
        uses = self._connection.uses_of(state) if state.is_durable else None
        self._connection.ask(download)
        self._connection.log.downloaded(state, host, uses)
        return host

    def _submit(
        self,
        application: DaemonApplication,
        launch: Launched,
        idempotent: bool,
    ) -> DaemonJob:
        job = DaemonJob(Submission(application, launch), is_replayable=False)
        self._connection.submit(job, idempotent=idempotent)
        return job
