# SPDX-License-Identifier: Apache-2.0
"""What a worker's clients share: a session whose work comes through their rings or from their programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gpushare import _core
from gpushare._core import InvalidInput
from gpushare.daemon.settings import PROGRAMS
from gpushare.model.service_level import Terms

if TYPE_CHECKING:
    from gpushare.backends.cuda.loaded_code import LoadedCode
    from gpushare.daemon.worker.kernel_session import KernelSession
    from gpushare.daemon.worker.served_programs import ServedPrograms


class ServedSession:
    """Applications that share a device, of kernels or of programs.

    Args:
        device: what users see of it.
        sink: takes the work.
        policy: that decides.
    """

    def __init__(self, device: Any, sink: _core.SessionSink, policy: str) -> None:
        self.device = device
        self.sink = sink
        self._policy = policy

    @property
    def loaded_kernels(self) -> int:
        """How many the device has, but for those with variables."""
        return 0

    @property
    def kernels(self) -> KernelSession:
        """The session, for what only one of kernels can do.

        Raises:
            InvalidInput: it is one of programs.
        """
        raise InvalidInput(
            f"the device {self.device.name!r} schedules programs that were started with gpushare run: "
            "connect to another device of this server for kernels"
        )

    @property
    def programs(self) -> ServedPrograms:
        """The session, for what only one of programs can do.

        Raises:
            InvalidInput: it is one of kernels.
        """
        raise InvalidInput(
            f"the device {self.device.name!r} runs kernels of gpushare's API, and no programs: connect to the "
            f"device {PROGRAMS!r}"
        )

    def new_code(self, take: Callable[[int], None]) -> LoadedCode | None:
        """Where a client's kernels are loaded, with variables of its own; None where nothing is loaded.

        Args:
            take: is told of their bytes, and may refuse them.
        """
        return None

    def application(
        self, name: str, priority: int, terms: Terms, owner: str, owner_weight: float
    ) -> _core.ServedApplication:
        """Opens an application of this owner, for ports.

        Raises:
            PolicyError: the policy has no priorities.
        """
        _core.require_priority(self._policy, name, priority)
        given = terms.core | {"owner": owner, "owner_weight": owner_weight}
        return self.sink.application(_core.Application(name, [], priority=priority, **given))

    def set_priority(self, application: _core.ServedApplication, priority: int) -> None:
        """Changes a priority."""
        _core.require_priority(self._policy, application.name, priority)
        application.set_priority(priority)

    def set_policy(self, policy: str) -> None:
        """Changes the policy."""
        self.sink.session.set_policy(policy)
        self._policy = policy

    def status(self) -> _core.SessionStatus:
        """The present state."""
        return self.sink.session.status()

    def history(self, seconds: float) -> _core.SessionPast:
        """The history of the last seconds."""
        return self.sink.session.history(round(seconds * 1e9))

    def raise_failure(self, timeout_s: float) -> None:
        """Raises the session's error once it has failed."""
        self.sink.raise_failure(timeout_s)
