# SPDX-License-Identifier: Apache-2.0
"""Hardware counters of a launch, with CUPTI's range profiler: all of them in one pass on an H100."""

from __future__ import annotations

from collections.abc import Callable

from gpushare import _core
from gpushare._core import CudaError
from gpushare.backends.cuda.device import CudaDevice
from gpushare.extras import install
from gpushare.profile.record import Counters

INSTALL = install("cu13")
METRICS = {
    "warp_instructions": "smsp__inst_executed.sum",
    "cycles_elapsed": "sm__cycles_elapsed.max",
    "sm_cycles_active": "sm__cycles_active.sum",
    "l2_requests": "lts__t_requests.sum",
    "l2_sectors": "lts__t_sectors.sum",
    "l2_requests_from_sms": "lts__t_requests_srcunit_tex.sum",
    "l2_sectors_from_sms": "lts__t_sectors_srcunit_tex.sum",
    # Counting the sectors that hit would take a second pass; this ratio needs only one.
    "l2_hit_ratio": "LTS.TriageCompute.lts__average_t_sector_hit_rate_realtime.pct",
    "dram_read_bytes": "dram__bytes_read.sum",
    "dram_written_bytes": "dram__bytes_write.sum",
    "duration_ns": "gpu__time_duration.sum",
}
PERCENT = ("l2_hit_ratio",)


def count(device: CudaDevice, program: _core.CudaProgram, restore: Callable[[], None]) -> Counters | str:
    """The counters of one launch, or a sentence with the reason why there are none.

    Args:
        device: the device.
        program: the launch.
        restore: restores the data; called before every pass.
    """
    try:
        profiler = _core.CounterProfiler(device.core, _library(), list(METRICS.values()))
        restore()
        while not profiler.run(program):
            restore()
        values = dict(zip(METRICS, profiler.values(), strict=True))
        passes = profiler.passes
    except CudaError as error:
        if not device.core.is_healthy:  # the kernel has failed, not the counters
            raise
        return f"no counters: {error}"
    return counters_of(values, passes)


def counters_of(values: dict[str, float], passes: int) -> Counters:
    """The record of CUPTI's values, which are all floating-point.

    >>> counters_of({name: 50.0 for name in METRICS}, 1).l2_hit_ratio
    0.5
    """
    whole = {name: round(value) for name, value in values.items() if name not in PERCENT}
    return Counters(passes=passes, l2_hit_ratio=values["l2_hit_ratio"] / 100, **whole)


def _library() -> str:
    from cuda import pathfinder

    try:
        path = pathfinder.load_nvidia_dynamic_lib("cupti").abs_path
    except (pathfinder.DynamicLibNotFoundError, RuntimeError, OSError) as error:
        raise CudaError(f"libcupti.so was not found. Install: {INSTALL}") from error
    if path is None:
        raise CudaError("libcupti.so is loaded, but its path is not known")
    return path
