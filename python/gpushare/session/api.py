# SPDX-License-Identifier: Apache-2.0
"""What a session of the process and a session with a server have in common."""

from __future__ import annotations

import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

import numpy as np

from gpushare.checks import require
from gpushare.kernels.kernel import Kernel

FINISH_TIMEOUT_S = 300.0
FINISHED = "the session has been finished: open another one"


class Unopened:
    """In the place of an attribute that a session has once it is open: its first use opens the session.

    A ``__getattr__`` of the session would do it, but slows every access to the session's attributes.
    """

    def __init__(self, session: SessionApi, name: str) -> None:
        self._session = session
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        self._session._open_once()
        return getattr(getattr(self._session, self._name), attribute)


class SessionApi(ABC):
    """Applications share a device, launch by launch as they come. It is closed at the end of a ``with`` block.

    :class:`gpushare.Session` is one whose applications are of this process, :func:`gpushare.connect` returns one whose
    device belongs to a server, which shares it with other processes.

    A session opens its device, or connects to its server, when it is made. Where an event loop of asyncio runs it does
    so in ``async with``, in another thread, so that the loop is not blocked; or at its first use.

    Attributes:
        device: the device of the session.
        policy: the present policy.
    """

    device: Any
    policy: Any

    def __init__(self) -> None:
        self._opening = threading.RLock()
        self._finished = False
        self._is_open = False
        if not in_event_loop():
            self._open_once()

    @abstractmethod
    def _open(self) -> None:
        """Opens the device or connects."""

    def _open_once(self) -> None:
        with self._opening:
            if not self._is_open:
                require(not self._finished, FINISHED)
                self._open()
                self._is_open = True

    def _close_once_open(self) -> None:
        with self._opening:
            self.close()

    @property
    @abstractmethod
    def ordering(self) -> str:
        """The ordering of operations, before the policy allocates the SMs; it stays as long as the session."""

    @abstractmethod
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
    ) -> Any:
        """A new application; it arrives with its first launch.

        Args:
            name: unique within the session.
            priority: larger is more urgent, for policies with priorities.
            weight: share of the GPU, for weighted policies.
            deadline_ns: when it should have ended, in nanoseconds after its first launch. A first launch that misses
                it even alone, by its profile, is refused; whether others do, ``status`` and the run say.
            min_speed: the share of its speed alone that it is to keep beside others, at most 1.
            latency_ns: when each of its launches should have ended, in nanoseconds after it was submitted; refused like
                a deadline. Its launches go first where the bound needs it, so it needs the right to priorities above 0.
            memory_bytes: device memory that it will need, for its placement; None: that of its arrays.
            device: the number of its device among the session's; None: the placement chooses one. With a server it is
                the client that is placed, when it connects.

        Raises:
            InvalidInput: the name is taken, a value is out of range or not permitted, or no device has so much memory.
            PolicyError: the session's policy has no use for this priority.
            RefusedError: the server's configuration does not permit this priority, minimum speed or latency.
        """

    @abstractmethod
    def array(self, values: Any) -> Any:
        """A copy of host values in device memory."""

    @abstractmethod
    def zeros(self, shape: int | tuple[int, ...], dtype: Any = np.float32) -> Any:
        """Zeroed device memory; with a server it waits until others have freed enough."""

    @abstractmethod
    def load(self, kernel: Kernel) -> None:
        """Compiles the kernel and loads it now rather than at its first launch; other launches may wait meanwhile."""

    @abstractmethod
    def variable(self, kernel: Kernel, name: str, dtype: Any = None, shape: Any = None) -> Any:
        """A variable of the kernel's source in device memory, as an array in its place; docs/guide/kernels.md.

        The session has one copy of it for all kernels of the source. Wait for the jobs that use it. With a server's
        worker it is lost, and has the value of the source again on the next one.

        Args:
            kernel: one of the source's.
            name: in C++, such as ``"ns::coefficient"`` or the end of that, or its symbol.
            dtype: what it is made of: without it arrays and structs of CUDA C++ are bytes.
            shape: of so many elements.

        Raises:
            InvalidInput: there is no such variable (the message lists those there are), or it has another size.
        """

    @abstractmethod
    def set_policy(self, policy: str) -> None:
        """Another policy decides from now on; it gets the present state, and nothing that the last one learnt.

        Raises:
            InvalidInput: there is no such policy, or it is an oracle.
            PolicyError: it cannot serve one of the present applications, or their present launches. The last policy
                then stays.
            RefusedError: with a server, the user is not among its operators.
        """

    @abstractmethod
    def status(self) -> Any:
        """The present state."""

    @abstractmethod
    def history(self, seconds: float) -> Any:
        """Launches, quotas and SMs of this session's applications in the last seconds."""

    @abstractmethod
    def finish(self, timeout: float = FINISH_TIMEOUT_S) -> Any:
        """Waits for all jobs of this session, and ends it.

        Args:
            timeout: in seconds.
        """

    @abstractmethod
    def close(self) -> None:
        """Ends the session without waiting: what runs stops at the next block boundary."""

    def __enter__(self) -> Self:
        self._open_once()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        import asyncio  # an event loop has imported it

        try:
            await _in_thread(self._open_once)
        except asyncio.CancelledError:  # the thread opens it all the same, and there will be no __aexit__
            asyncio.get_running_loop().run_in_executor(None, self._close_once_open)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await _in_thread(self.close)


def in_event_loop() -> bool:
    """Whether this thread runs an event loop of asyncio."""
    asyncio = sys.modules.get("asyncio")
    return asyncio is not None and asyncio._get_running_loop() is not None


async def _in_thread(act: Callable[[], None]) -> None:
    import asyncio  # an event loop has imported it

    await asyncio.to_thread(act)
