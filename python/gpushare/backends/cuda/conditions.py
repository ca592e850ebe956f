# SPDX-License-Identifier: Apache-2.0
"""The conditions of a run on a real GPU, as they are when it has ended."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from gpushare import _core
from gpushare.backends.cuda.driver import MODULE_VERSION, cuda_version, module_release
from gpushare.model.operation import Launch
from gpushare.results.measured import Measured
from gpushare.version import __version__

if TYPE_CHECKING:
    from gpushare.backends.cuda.device import CudaDevice
    from gpushare.model.workload import Workload


def measured_now(
    device: CudaDevice,
    workload: Workload,
    core: _core.CoreWorkload,
    record: _core.RunRecord | None = None,
    board_joules: float | None = None,
) -> Measured:
    """The conditions of a run that has just ended; ``core`` is the workload as the core took it."""
    return Measured(
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        driver=driver_words(),
        gpushare=__version__,
        max_residency=tuple(_residency(device, each) for part in core.applications for each in part.operations),
        registers=_registers(workload, device.core.architecture),
        longest_pause_ns=record.longest_pause if record else None,
        without_processor_ns=record.without_processor if record else None,
        board_joules=board_joules,
    )


def driver_words() -> str:
    """The driver of this machine: its release, where that is known, and the CUDA that it supports."""
    supported = f"CUDA {cuda_version(_core.cuda_driver_version())}"
    release = module_release(MODULE_VERSION)
    return f"{release}, {supported}" if release else supported


def _residency(device: CudaDevice, operation: _core.Launch | _core.Copy) -> int:
    return _core.max_residency(device.description, operation.kernel) if isinstance(operation, _core.Launch) else 0


def _registers(workload: Workload, architecture: str) -> dict[str, tuple[int, int | None]]:
    operations = [operation for each in workload.applications for operation in each.operations]
    kernels = dict.fromkeys(each.cuda.kernel for each in operations if isinstance(each, Launch) and each.is_real)
    compiled = [kernel.compile(architecture) for kernel in kernels]  # from a cache: the run compiled them
    return {
        each.name: (each.original_usage.registers, each.worker_usage.registers if each.worker_usage else None)
        for each in compiled
    }
