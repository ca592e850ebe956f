# SPDX-License-Identifier: Apache-2.0
"""What is known of a run because a real GPU made it: when, with which driver, and how the kernels fit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from gpushare import _core
from gpushare.model.operation import Launch

if TYPE_CHECKING:
    from gpushare.backends.cuda.device import CudaDevice
    from gpushare.model.workload import Workload


@dataclass(frozen=True)
class Measured:
    """The conditions of a run on a real GPU.

    Attributes:
        date: of the run, ISO 8601, UTC.
        driver: its release and the CUDA that it supports.
        gpushare: version that made the run.
        max_residency: per operation of the workload, the blocks that fill an SM; 0 for a copy.
        registers: per kernel, registers per thread of the original and of its worker (None: it has none).
        longest_pause_ns: of the thread that schedules, between two looks at the GPU, its policy's decisions included;
            None where the hardware scheduled by itself, and for sessions.
        without_processor_ns: how long in all that thread was awake and had no processor. Under a built-in policy the
            system ran something else then, and much of it makes a run worthless as a measurement; a policy in Python
            waits for the interpreter, too. None likewise.
        board_joules: that the board used from just before the first launch to just after the last, its idle power
            included; None where NVML does not tell, for runs of less than a second, and for sessions.
    """

    date: str
    driver: str
    gpushare: str
    max_residency: tuple[int, ...]
    registers: dict[str, tuple[int, int | None]]
    longest_pause_ns: int | None = None
    without_processor_ns: int | None = None
    board_joules: float | None = None

    @staticmethod
    def now(
        device: CudaDevice,
        workload: Workload,
        core: _core.CoreWorkload,
        record: _core.RunRecord | None = None,
        board_joules: float | None = None,
    ) -> Measured:
        """The conditions of a run that has just ended; ``core`` is the workload as the core took it."""
        import gpushare

        return Measured(
            date=datetime.now(UTC).isoformat(timespec="seconds"),
            driver=driver_words(),
            gpushare=gpushare.__version__,
            max_residency=tuple(_residency(device, each) for part in core.applications for each in part.operations),
            registers=_registers(workload, device.core.architecture),
            longest_pause_ns=record.longest_pause if record else None,
            without_processor_ns=record.without_processor if record else None,
            board_joules=board_joules,
        )


def driver_words() -> str:
    """The driver of this machine: its release, where that is known, and the CUDA that it supports."""
    from gpushare.doctor.driver import MODULE_VERSION, module_release
    from gpushare.doctor.finding import cuda_version

    supported = f"CUDA {cuda_version(_core.cuda_driver_version())}"
    release = module_release(MODULE_VERSION)
    return f"{release}, {supported}" if release else supported


def _residency(device: CudaDevice, operation: _core.Launch | _core.Copy) -> int:
    is_launch = isinstance(operation, _core.Launch)
    return _core.max_residency(device.description, operation.kernel) if is_launch else 0


def _registers(workload: Workload, architecture: str) -> dict[str, tuple[int, int | None]]:
    operations = [operation for each in workload.applications for operation in each.operations]
    kernels = dict.fromkeys(each.kernel for each in operations if isinstance(each, Launch) and each.is_real)
    compiled = [kernel.compile(architecture) for kernel in kernels]  # known since the run
    return {
        each.name: (each.original_usage.registers, each.worker_usage.registers if each.worker_usage else None)
        for each in compiled
    }
