# SPDX-License-Identifier: Apache-2.0
"""Conditions of a run on a real GPU: date, driver, version, and how many blocks of each kernel fit an SM."""

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
        date: date of the run, ISO 8601, UTC.
        driver: the driver's release and the CUDA version that it supports.
        gpushare: version of gpushare that made the run.
        max_residency: per operation of the workload, the blocks that fill an SM; 0 for a copy.
        registers: per kernel, registers per thread of the original and of its worker (None: it has none).
        longest_pause_ns: longest time between two polls of the GPU by the scheduling thread, including its policy's
            decisions, in nanoseconds; None where the hardware scheduled, and for sessions.
        without_processor_ns: total time that thread was runnable and had no processor, in nanoseconds. Under a built-in
            policy the system ran something else then, and a large value makes the run worthless as a measurement; a
            policy in Python also waits for the interpreter. None in the same cases.
        board_joules: energy that the board used from just before the first launch to just after the last, with its idle
            power; None without a reading of NVML, for runs of less than a second, and for sessions.
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
        """The conditions of a run that has just ended; ``core`` is the core's workload."""
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
    """The driver of this machine: its release, where that is known, and the CUDA version that it supports."""
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
    compiled = [kernel.compile(architecture) for kernel in kernels]  # from a cache: the run compiled them
    return {
        each.name: (each.original_usage.registers, each.worker_usage.registers if each.worker_usage else None)
        for each in compiled
    }
