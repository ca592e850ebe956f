# SPDX-License-Identifier: Apache-2.0
"""The session of a server's programs. It needs no GPU: the programs launch their kernels when it admits them."""

from __future__ import annotations

from dataclasses import dataclass

from gpushare import _core
from gpushare.checks import require
from gpushare.daemon.settings import PROGRAMS
from gpushare.daemon.worker.served_session import ServedSession


@dataclass(frozen=True)
class ProgramDevice:
    """The device description for a worker.

    Attributes:
        name: name of the device.
        description: for policies: eight SMs with room for one block each.
    """

    name: str
    description: _core.Device


class ServedPrograms(ServedSession):
    """Programs that share the GPUs of this machine.

    Args:
        policy: the policy that admits programs.
        ordering: ordering of their pieces of work.
        has_mps: their kernels run at the same time, by MPS.
    """

    def __init__(self, policy: str, ordering: str, *, has_mps: bool = False) -> None:
        self._programs = _core.Programs()
        self._ordering = ordering
        self._has_mps = has_mps
        device = ProgramDevice(PROGRAMS, _core.program_device(PROGRAMS))
        sink = _core.open_program_sink(device.description, self._programs, policy, ordering, has_mps)
        super().__init__(device, sink, policy)

    @property
    def programs(self) -> ServedPrograms:
        """Itself."""
        return self

    def attach(
        self, application: _core.ServedApplication, page: int, gang: tuple[int, int, int] | None = None
    ) -> _core.ProgramPort:
        """Schedules a program from now on, until the port is closed.

        Args:
            application: its application in the session.
            page: descriptor of the memory that its processes map; it remains the caller's.
            gang: of a program on several GPUs: descriptor of the memory that their schedulers map, which remains the
                caller's; number of this device among them; how many these are.

        Raises:
            InvalidInput: the memory is not a program's page, or the program has several GPUs and there is an ordering.
        """
        require(
            gang is None or self._ordering == "arrival",
            f"the server has the ordering {self._ordering!r}, which is for programs on one GPU: leave out --all-gpus",
        )
        return _core.ProgramPort(self.sink, self._programs, application, page, self._has_mps, gang)
