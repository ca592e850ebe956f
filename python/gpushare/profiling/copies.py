# SPDX-License-Identifier: Apache-2.0
"""Measures copies between host and device: both directions, pinned and pageable host memory, 1 KB to 256 MB."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from gpushare import _core
from gpushare.backends.cuda.copies import DIRECTIONS
from gpushare.backends.cuda.device import CudaDevice
from gpushare.profile.record import CopyCurve, DeviceProfile
from gpushare.profiling.conditions import conditions_now
from gpushare.profiling.effort import Effort, copy_sizes

MEMORIES = {"pinned": _core.HostMemory.PINNED, "pageable": _core.HostMemory.PAGEABLE}


def measure_device(device: CudaDevice, effort: Effort) -> DeviceProfile:
    """Measures the data of a GPU that do not depend on a kernel."""
    sizes = copy_sizes()
    timer = _core.CopyTimer(device.core, sizes[-1])
    curves = tuple(_curve(timer, direction, memory, sizes, effort) for direction in DIRECTIONS for memory in MEMORIES)
    return DeviceProfile(device.description.sms, curves, conditions_now(device))


def _curve(timer: _core.CopyTimer, direction: str, memory: str, sizes: list[int], effort: Effort) -> CopyCurve:
    rows = list(_medians(timer, direction, memory, sizes, effort))
    return CopyCurve(
        direction=direction,
        memory=memory,
        repeats=effort.copy_repeats,
        bytes=tuple(sizes),
        host_ns=tuple(host for host, _ in rows),
        device_ns=tuple(device for _, device in rows),
    )


def _medians(
    timer: _core.CopyTimer, direction: str, memory: str, sizes: list[int], effort: Effort
) -> Iterator[tuple[int, int]]:
    for size in sizes:
        times = timer.measure(DIRECTIONS[direction], MEMORIES[memory], size, effort.copy_repeats)
        host, device = zip(*times, strict=True)
        yield round(statistics.median(host)), round(statistics.median(device))
