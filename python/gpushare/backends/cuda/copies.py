# SPDX-License-Identifier: Apache-2.0
"""Copies on a GPU: their buffers, and their measured times."""

from __future__ import annotations

import statistics
from collections import defaultdict

from gpushare import _core
from gpushare._core import Device
from gpushare.backends.cuda.device import CudaDevice
from gpushare.model.devices import changed_device, simulated_device
from gpushare.profile.lookup import simulated_stand_in
from gpushare.profile.store import ProfileStore

TIMED_BYTES = (1 << 16, 1 << 20, 1 << 24)
"""Sizes for a linear fit: below the smallest, latency alone determines the time; above the largest, bandwidth alone."""
TIMED_REPEATS = 5
DIRECTIONS = {"to_device": _core.Copy.Direction.TO_DEVICE, "to_host": _core.Copy.Direction.TO_HOST}
PINNED = _core.HostMemory.PINNED


class BufferPool:
    """Buffers for the copies of workloads that run one at a time; reused, since pinning takes longer than copying."""

    def __init__(self, device: CudaDevice) -> None:
        self._device = device
        self._by_size: dict[int, list[_core.CopyBuffers]] = defaultdict(list)

    def get(self, number: int, size: int) -> _core.CopyBuffers:
        """The buffers of the copy with this number among a workload's copies of this size."""
        buffers = self._by_size[size]
        while len(buffers) <= number:
            buffers.append(_core.CopyBuffers(self._device.core, size))
        return buffers[number]


def known_by_measured_copies(device: CudaDevice) -> Device:
    """The GPU's description for orderings that estimate times: copies from its profile, else measured now.

    The cost of a launch is that of the simulated device with this GPU's name, where there is one.
    """
    known = device.description
    stand_in = simulated_stand_in(known.name)
    return changed_device(
        known,
        to_device=_engine(device, "to_device"),
        to_host=_engine(device, "to_host"),
        delays=simulated_device(stand_in).delays if stand_in else known.delays,
    )


def _engine(device: CudaDevice, direction: str) -> _core.CopyEngine:
    own = ProfileStore().device(device.description.name)
    curves = [each for each in own.copies if (each.direction, each.memory) == (direction, "pinned")] if own else []
    if curves:
        return engine_through(list(curves[0].bytes), list(curves[0].host_ns))
    return engine_through(list(TIMED_BYTES), timed_copies(device, direction, TIMED_BYTES))


def engine_through(sizes: list[int], times_ns: list[int]) -> _core.CopyEngine:
    """The copy engine that fits these times best (CuMAS, Eq. 6).

    >>> engine_through([1_000_000, 2_000_000], [110_000, 210_000]).latency_ns
    10000
    """
    fit = _core.fit_transfer([float(size) for size in sizes], [float(time) for time in times_ns])
    return _core.CopyEngine(bandwidth_bytes_per_s=1e9 / fit.ns_per_byte, latency_ns=round(fit.latency_ns))


def timed_copies(device: CudaDevice, direction: str, sizes: tuple[int, ...]) -> list[int]:
    """Median times of copies from or to pinned memory by the host's clock, in nanoseconds."""
    timer = _core.CopyTimer(device.core, max(sizes))
    return [
        round(statistics.median(host for host, _ in timer.measure(DIRECTIONS[direction], PINNED, size, TIMED_REPEATS)))
        for size in sizes
    ]
