# SPDX-License-Identifier: Apache-2.0
"""What a session of the process and a session with a server have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Any, Self

import numpy as np

from gpushare.kernels.kernel import Kernel
from gpushare.session.job import DEFAULT_TIMEOUT_S


class SessionApi(ABC):
    """Applications share a device, launch by launch as they come. It is closed at the end of a ``with`` block.

    :class:`gpushare.Session` is one whose applications are of this process, :func:`gpushare.connect` returns one whose
    device belongs to a server, which shares it with other processes.

    Attributes:
        device: the device of the session.
        policy: the present policy.
    """

    device: Any
    policy: Any

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

        Raises:
            InvalidInput: the name is taken, or a value is out of range or not permitted.
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
    def finish(self, timeout: float = DEFAULT_TIMEOUT_S) -> Any:
        """Waits for all jobs of this session, and ends it.

        Args:
            timeout: in seconds.
        """

    @abstractmethod
    def close(self) -> None:
        """Ends the session without waiting: what runs stops at the next block boundary."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
