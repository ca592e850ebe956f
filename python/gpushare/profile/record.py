# SPDX-License-Identifier: Apache-2.0
"""What a profile holds: figures as they were measured, each with its unit in its name, and what was fitted to them."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from gpushare.profile.fit_record import BlockFit, CopyFit

Extent = tuple[int, int, int]


@dataclass(frozen=True)
class Conditions:
    """Under what figures were measured.

    Attributes:
        device: as the driver calls it: ``"NVIDIA H100 80GB HBM3"``.
        driver: its release and the CUDA that it supports.
        gpushare: the version that measured.
        date: ISO 8601, UTC.
    """

    device: str
    driver: str
    gpushare: str
    date: str


@dataclass(frozen=True)
class RateCurve:
    """How fast a kernel is in parts of the GPU: as workers, alone, point by point. All columns are of one length.

    Attributes:
        sms: SMs in use, the first so many by number.
        residency: blocks per SM that the quota allowed.
        blocks: ended within the window.
        window_ns: how long the window was. It begins when all workers are at their place and have ended a block each,
            and ends when no block is left to claim, or at the trial's limit. Where it would hold fewer than three waves
            and the grid ended, it is the whole time from the launch to the end.
        block_ns: mean duration of these blocks, by the workers' own clock.
        whole_ns: from the launch to the end of the grid; 0 where the grid was not run to its end.
    """

    sms: tuple[int, ...]
    residency: tuple[int, ...]
    blocks: tuple[int, ...]
    window_ns: tuple[int, ...]
    block_ns: tuple[float, ...]
    whole_ns: tuple[int, ...]

    def grid_ns(self, blocks: int) -> list[float]:
        """How long so many blocks take at each point's rate.

        >>> RateCurve((1, 2), (4, 4), (10, 40), (1000, 2000), (400.0, 200.0), (0, 0)).grid_ns(100)
        [10000.0, 5000.0]
        """
        return [blocks * window / done for window, done in zip(self.window_ns, self.blocks, strict=True)]


@dataclass(frozen=True)
class BlockTimes:
    """How long blocks take with all SMs full, by the workers' clock (32 ns a tick on an H100).

    Workers count blocks, and the time spent on them, per SM and at the end of a chunk; the host reads these counters
    some 50 to 500 times per launch. So no block is seen by itself: what is seen are groups, the blocks that ended on
    one SM between two readings. Blocks of an SM need not be equally fast: an SM may serve some of its resident blocks
    before others, and the slow ones then end last.

    Attributes:
        first_wave_ns: mean of the first wave, run by itself: one block per place, all started at once. Exact.
        steady_ns: mean with all places in use: places times the length of the window, divided by the blocks that ended
            in it (see :class:`RateCurve`). What a worker does between two blocks counts.
        mean_ns: of all blocks of the grid, or of those that ended until the trial's limit.
        chunk: blocks that a worker claimed at a time, at most.
        blocks_per_group: mean size of a group in the middle of the grid (20 to 80 percent): the resolution.
        group_variation_ratio: standard deviation of the groups' mean times divided by the mean, there. If blocks were
            independent, that of single blocks would be larger by the root of ``blocks_per_group``. None where there
            were fewer than three groups.
        tail_ns: mean of as many blocks as there are places, those that ended last; None where the grid has fewer than
            three waves or was not run to its end.
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
        passes: launches that it took to count all of this.
        warp_instructions: executed, one per warp.
        cycles_elapsed: of the SM clock, from begin to end.
        sm_cycles_active: cycles with at least one resident warp, summed over the SMs.
        l2_requests: to the L2 cache, from everywhere.
        l2_sectors: of 32 bytes, asked for by these.
        l2_requests_from_sms: those of the SMs' L1 caches among them.
        l2_sectors_from_sms: likewise.
        l2_hit_ratio: of the sectors, from 0 to 1.
        dram_read_bytes: from the GPU's memory.
        dram_written_bytes: to it.
        duration_ns: of the launch, while it was being counted.
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
        """Warp instructions per cycle and SM, while that was active.

        >>> Counters(1, 500, 10, 250, 0, 0, 0, 0, 0.0, 0, 0, 0).ipc
        2.0
        """
        return self.warp_instructions / self.sm_cycles_active if self.sm_cycles_active else 0.0


@dataclass(frozen=True)
class Energy:
    """What a launch of the original kernel costs, the board's idle power included.

    The board's counter is read over many launches; putting the data back before each is measured by itself and taken
    off.

    Attributes:
        joules: per launch.
        watts: mean power while it ran.
        launches: that were counted.
    """

    joules: float
    watts: float
    launches: int


@dataclass(frozen=True)
class KernelProfile:
    """All that was measured of one kernel with one block shape on one GPU.

    Attributes:
        kernel: its name in tables.
        source_hash: of its source and its compiler options (:func:`gpushare.profile.key.source_hash`).
        entry: which kernel of the source.
        block: threads, x first.
        grid: blocks, likewise, of the launch that was measured.
        shared_bytes: dynamic shared memory per block.
        refusal: why it has no workers; None if it has. Without them there are no curves and no block times.
        registers: per thread, of the original.
        worker_registers: of the worker.
        static_shared_bytes: per block, of the original.
        worker_shared_bytes: of the worker.
        residency: blocks of the original that fill an SM.
        worker_residency: of the worker.
        alone_ns: launches of the original with nobody else there, by events; data put back before each.
        block_times: see there.
        against_sms: with all places of an SM in use.
        against_residency: on all SMs.
        counters: see there; None where they could not be read.
        no_counters: why not.
        energy: see there; None where the board does not tell.
        no_energy: why not.
        fit: see there; None where nothing has been fitted yet.
        conditions: see there.
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
        """Of the grid."""
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def median_alone_ns(self) -> float:
        """Of the launches alone."""
        return statistics.median(self.alone_ns)


@dataclass(frozen=True)
class CopyCurve:
    """Copies in one direction, from or to one kind of host memory, by size. All columns are of one length.

    Attributes:
        direction: ``"to_device"`` or ``"to_host"``.
        memory: ``"pinned"`` or ``"pageable"``, on the host.
        repeats: copies per size; the columns hold medians.
        bytes: sizes.
        host_ns: from the call until the host has seen the end.
        device_ns: between events around the copy.
        fit: see there; None where nothing has been fitted yet.
    """

    direction: str
    memory: str
    repeats: int
    bytes: tuple[int, ...]
    host_ns: tuple[int, ...]
    device_ns: tuple[int, ...]
    fit: CopyFit | None = None


@dataclass(frozen=True)
class DeviceProfile:
    """What was measured of a GPU and its host, whatever runs there.

    Attributes:
        sms: streaming multiprocessors.
        copies: with nothing else under way.
        conditions: see there.
    """

    sms: int
    copies: tuple[CopyCurve, ...]
    conditions: Conditions
