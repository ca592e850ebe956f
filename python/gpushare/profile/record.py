# SPDX-License-Identifier: Apache-2.0
"""Contents of a profile: measured values, with units in their names, and models fitted to them."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import final

from gpushare.profile.fit_record import BlockFit, CopyFit

Extent = tuple[int, int, int]


@dataclass(frozen=True)
class Conditions:
    """The conditions of a measurement.

    Attributes:
        device: the driver's name of it: ``"NVIDIA H100 80GB HBM3"``.
        driver: the driver's release and the CUDA version that it supports.
        gpushare: version of gpushare.
        date: ISO 8601, UTC.
    """

    device: str
    driver: str
    gpushare: str
    date: str


@dataclass(frozen=True)
class RateCurve:
    """Speed of a kernel's workers alone on parts of the GPU, point by point. All columns have equal lengths.

    Attributes:
        sms: number of SMs in use, from SM 0 on.
        residency: quota in blocks per SM.
        blocks: blocks that ended within the window.
        window_ns: length of the window. It begins when all workers are resident and have ended a block each, and ends
            when no block is left to claim, or at the trial's limit. If it would have fewer than three waves and the
            grid ended, it is the whole time from the launch to the end.
        block_ns: mean duration of these blocks, by the workers' own clock.
        whole_ns: time from the launch to the end of the grid; 0 if the grid was not run to its end.
    """

    sms: tuple[int, ...]
    residency: tuple[int, ...]
    blocks: tuple[int, ...]
    window_ns: tuple[int, ...]
    block_ns: tuple[float, ...]
    whole_ns: tuple[int, ...]

    def grid_ns(self, blocks: int) -> list[float]:
        """Time of this number of blocks at each point's rate, in nanoseconds.

        >>> RateCurve((1, 2), (4, 4), (10, 40), (1000, 2000), (400.0, 200.0), (0, 0)).grid_ns(100)
        [10000.0, 5000.0]
        """
        return [blocks * window / done for window, done in zip(self.window_ns, self.blocks, strict=True)]


@dataclass(frozen=True)
class BlockTimes:
    """Durations of blocks with all SMs full, by the workers' clock (32 ns per tick on an H100).

    Workers count blocks, and the time spent on them, per SM and at the end of a chunk; the host reads these counters
    about 50 to 500 times per launch. So single blocks are not observed, but groups: the blocks that ended on one SM
    between two readings. Blocks of an SM need not be equally fast: an SM may serve some of its resident blocks before
    others, and the slow ones then end last.

    Attributes:
        first_wave_ns: mean of the first wave, run separately: one block per place, all started at once. Exact.
        steady_ns: mean with all places in use: places times the length of the window, divided by the blocks that ended
            in it (see :class:`RateCurve`). It includes the worker's time between two blocks.
        mean_ns: mean of all blocks of the grid, or of those that ended before the trial's limit.
        chunk: largest number of blocks that a worker claimed at a time.
        blocks_per_group: mean size of a group in the middle of the grid (20 to 80 percent): the resolution.
        group_variation_ratio: standard deviation of the groups' mean times divided by the mean, there. For independent
            blocks, that of single blocks would be larger by the root of ``blocks_per_group``. None with fewer than
            three groups.
        tail_ns: mean of the blocks that ended last, one per place; None if the grid has fewer than three waves or was
            not run to its end.
    """

    first_wave_ns: float
    steady_ns: float
    mean_ns: float
    chunk: int
    blocks_per_group: float
    group_variation_ratio: float | None = None
    tail_ns: float | None = None


@dataclass(frozen=True)
class Counters:
    """Hardware counters of one launch of the original kernel.

    Attributes:
        passes: launches that were needed to count all of this.
        warp_instructions: executed instructions, one per warp.
        cycles_elapsed: cycles of the SM clock, from begin to end.
        sm_cycles_active: cycles with at least one resident warp, summed over the SMs.
        l2_requests: requests to the L2 cache, from all sources.
        l2_sectors: sectors of 32 bytes in these requests.
        l2_requests_from_sms: requests from the SMs' L1 caches.
        l2_sectors_from_sms: sectors in those.
        l2_hit_ratio: share of the sectors that hit, from 0 to 1.
        dram_read_bytes: bytes read from the GPU's memory.
        dram_written_bytes: bytes written to it.
        duration_ns: duration of the launch while it was counted.
    """

    passes: int
    warp_instructions: int
    cycles_elapsed: int
    sm_cycles_active: int
    l2_requests: int
    l2_sectors: int
    l2_requests_from_sms: int
    l2_sectors_from_sms: int
    l2_hit_ratio: float
    dram_read_bytes: int
    dram_written_bytes: int
    duration_ns: int

    @property
    def ipc(self) -> float:
        """Warp instructions per active cycle and SM.

        >>> Counters(1, 500, 10, 250, 0, 0, 0, 0, 0.0, 0, 0, 0).ipc
        2.0
        """
        return self.warp_instructions / self.sm_cycles_active if self.sm_cycles_active else 0.0


@dataclass(frozen=True)
class Energy:
    """Energy of a launch of the original kernel, with the board's idle power.

    The board's counter is read over many launches; the energy for restoring the data before each is measured separately
    and subtracted.

    Attributes:
        joules: energy per launch.
        watts: mean power while it ran.
        launches: launches that were counted.
    """

    joules: float
    watts: float
    launches: int


@final
@dataclass(frozen=True)
class KernelProfile:
    """All measurements of one kernel with one block shape on one GPU.

    Attributes:
        kernel: its name in tables.
        source_hash: hash of its source and its compiler options (:func:`gpushare.profile.key.source_hash`).
        entry: name of the kernel in the source.
        block: threads per block, x first.
        grid: blocks of the measured launch, x first.
        shared_bytes: dynamic shared memory per block.
        refusal: why it has no workers; None if it has. Without them there are no curves and no block times.
        registers: registers per thread of the original.
        worker_registers: registers per thread of the worker.
        static_shared_bytes: static shared memory per block of the original.
        worker_shared_bytes: static shared memory per block of the worker.
        residency: blocks of the original that fill an SM.
        worker_residency: blocks of the worker that fill an SM.
        alone_ns: times of the original alone, between events, on restored data.
        block_times: block durations.
        against_sms: curve against SMs at full residency.
        against_residency: curve against residency on all SMs.
        counters: hardware counters; None if they could not be read.
        no_counters: the reason.
        energy: energy of a launch; None if the board does not report it.
        no_energy: the reason.
        fit: the fitted model; None if there is none yet.
        conditions: conditions of the measurement.
    """

    kernel: str
    source_hash: str
    entry: str
    block: Extent
    grid: Extent
    shared_bytes: int
    registers: int
    static_shared_bytes: int
    residency: int
    alone_ns: tuple[int, ...]
    conditions: Conditions
    refusal: str | None = None
    worker_registers: int | None = None
    worker_shared_bytes: int | None = None
    worker_residency: int | None = None
    block_times: BlockTimes | None = None
    against_sms: RateCurve | None = None
    against_residency: RateCurve | None = None
    counters: Counters | None = None
    no_counters: str | None = None
    energy: Energy | None = None
    no_energy: str | None = None
    fit: BlockFit | None = None

    @property
    def blocks(self) -> int:
        """Number of blocks of the grid."""
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def median_alone_ns(self) -> float:
        """Median of the times alone, in nanoseconds."""
        return statistics.median(self.alone_ns)


@dataclass(frozen=True)
class CopyCurve:
    """Copies in one direction and one kind of host memory, by size. All columns have equal lengths.

    Attributes:
        direction: ``"to_device"`` or ``"to_host"``.
        memory: ``"pinned"`` or ``"pageable"``, on the host.
        repeats: copies per size; the columns hold medians.
        bytes: sizes.
        host_ns: time from the call until the host has observed the end.
        device_ns: time between events before and after the copy.
        fit: the fitted model; None if there is none yet.
    """

    direction: str
    memory: str
    repeats: int
    bytes: tuple[int, ...]
    host_ns: tuple[int, ...]
    device_ns: tuple[int, ...]
    fit: CopyFit | None = None


@final
@dataclass(frozen=True)
class DeviceProfile:
    """Measurements of a GPU and its host that do not depend on a kernel.

    Attributes:
        sms: streaming multiprocessors.
        copies: copies on an otherwise idle GPU.
        conditions: conditions of the measurement.
    """

    sms: int
    copies: tuple[CopyCurve, ...]
    conditions: Conditions
