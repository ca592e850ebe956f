# SPDX-License-Identifier: Apache-2.0
"""The session of a server's programs. It needs no GPU: the programs themselves launch, when it lets them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

from gpushare import _core
from gpushare._core import InvalidInput
from gpushare.daemon.settings import PROGRAMS
from gpushare.daemon.worker.served_session import ServedSession


@dataclass(frozen=True)
class ProgramDevice:
    """What a worker wants to know of a device.

    Attributes:
        name: of the device.
        description: for policies: eight SMs with room for a block each.
    """

    name: str
    description: _core.Device


class ServedPrograms(ServedSession):
    """Programs that share the GPUs of this machine.

    Args:
        policy: that decides which may go on.
        ordering: of their pieces of work.
    """

    def __init__(self, policy: str, ordering: str) -> None:
        description = _core.program_device(PROGRAMS)
        self.device = ProgramDevice(PROGRAMS, description)
        self.sink = _core.open_program_sink(description, programs := _core.Programs(), policy, ordering)
        self._programs = programs
        self._policy = policy
        self._is_gpu = False

    def attach(self, application: _core.ServedApplication, page: int) -> _core.ProgramPort:
        """Schedules a program from now on, until the port is closed.

        Args:
            application: what it is in the session.
            page: the descriptor of the memory that its processes map; it remains the caller's.

        Raises:
            InvalidInput: the memory is no page of a program.
        """
        return _core.ProgramPort(self.sink, self._programs, application, page)

    def kernel(self, *_: Any) -> NoReturn:
        """Raises InvalidInput."""
        raise InvalidInput(
            f"the device {PROGRAMS!r} schedules programs that were started with gpushare run: "
            "connect to another device of this server for kernels"
        )

    def zeros(self, *_: Any) -> NoReturn:
        """Raises InvalidInput."""
        self.kernel()
