# SPDX-License-Identifier: Apache-2.0
"""Kernel models for the simulated GPU: resources and durations of one thread block."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from gpushare import _core
from gpushare._core import Device, InvalidInput
from gpushare.checks import MOST_BYTES, number, require, require_name, whole

DEFAULT_ISSUE_UTILISATION = 0.9
"""Utilisation of an SM's issue slots at maximum residency, for kernels of which only the mean block time is known.

An assumption: with 0.9 the runtimes alone of SRTF's eight kernels follow from their mean block times within 3%, and
within 10% for the two kernels with the highest variation of block times (``gpushare reproduce srtf`` prints both, and
how the results change with this value).
"""


TIMES = ("latency_ns", "mean_block_time_ns", "mean_block_time_cycles")
LONGEST_BLOCK_NS = 1e12
WHOLE_FIELDS = {
    "threads": (1, 65_536),
    "registers_per_thread": (0, 16_384),
    "shared_memory_bytes": (0, MOST_BYTES),
    "off_sm_bytes": (0, MOST_BYTES),
}
NUMBER_FIELDS: dict[str, tuple[float, float]] = {
    "latency_ns": (1, LONGEST_BLOCK_NS),
    "issue_ns": (0, LONGEST_BLOCK_NS),
    "mean_block_time_ns": (1, LONGEST_BLOCK_NS),
    "mean_block_time_cycles": (1, LONGEST_BLOCK_NS),
    "issue_utilisation_ratio": (0.001, 0.999),
    "llc_hit_ratio": (0, 1),
    "dram_cost_ratio": (0, 1e6),
    "memory_ns": (0, LONGEST_BLOCK_NS),
    "variation_ratio": (0, 1000),
    "startup_ratio": (0, 1000),
    "stagger_ratio": (0, 1),
    "trend_ratio": (-1, 1),
    "flops": (0, 1e18),
}
"""Limits of the fields. They are wide, and keep sums of times within the core's number types."""


@dataclass(frozen=True)
class KernelModel:
    """A kernel on the simulated GPU: the resources and durations of one thread block on an SM.

    Give either ``latency_ns`` and ``issue_ns``, or the mean duration of a block at maximum residency, which is split
    into the two by ``issue_utilisation_ratio`` for the device of the run.

    Args:
        name: unique within a workload.
        threads: threads per block.
        registers_per_thread: as the compiler reports them.
        shared_memory_bytes: static and dynamic, per block.
        latency_ns: duration of a block that has an SM to itself, in nanoseconds.
        issue_ns: the part of ``latency_ns`` in which the block occupies the SM's issue slots, in nanoseconds.
        mean_block_time_ns: mean duration of a block at maximum residency, in nanoseconds.
        mean_block_time_cycles: the same in cycles of the device's clock.
        issue_utilisation_ratio: utilisation of the issue slots at maximum residency, in (0, 1).
        off_sm_bytes: bytes that a block moves between the SM and the rest of the GPU.
        llc_hit_ratio: share of those bytes that the last-level cache serves, in 0..1.
        dram_cost_ratio: DRAM time of a byte that misses the last-level cache, relative to a byte of a sequential
            stream.
        memory_ns: the part of ``latency_ns`` that grows while memory beyond the SMs is busy; 0 where it is not known,
            so that only limits of bandwidth matter.
        variation_ratio: standard deviation of the work per block divided by its mean.
        startup_ratio: extra work of the first wave's blocks, as a share of a block's work.
        stagger_ratio: how unequally an SM serves blocks that start together: 0: all end together, 1: one after the
            other.
        trend_ratio: extra work of the grid's first block, which falls linearly to the negative of this value at its
            last block; in -1..1.
        flops: single-precision operations of a block; 0 where they are not known. They do not affect durations: Slate
            classifies kernels by them.

    Raises:
        InvalidInput: a value is no number or out of range, or the block time is given twice or not at all.

    >>> sha1 = KernelModel("sha1", threads=64, mean_block_time_cycles=1_708_531, variation_ratio=0.0798)
    >>> from gpushare import device
    >>> sha1.max_residency(device("gtx480"))
    8
    """

    name: str
    threads: int
    registers_per_thread: int = 0
    shared_memory_bytes: int = 0
    latency_ns: float | None = None
    issue_ns: float = 0
    mean_block_time_ns: float | None = None
    mean_block_time_cycles: float | None = None
    issue_utilisation_ratio: float = DEFAULT_ISSUE_UTILISATION
    off_sm_bytes: int = 0
    llc_hit_ratio: float = 0.0
    dram_cost_ratio: float = 1.0
    memory_ns: float = 0
    variation_ratio: float = 0.0
    startup_ratio: float = 0.0
    stagger_ratio: float = 0.0
    trend_ratio: float = 0.0
    flops: float = 0.0

    def __post_init__(self) -> None:
        require_name("a kernel's name", self.name)
        require(
            sum(getattr(self, field) is not None for field in TIMES) == 1,
            f"kernel {self.name!r}: give exactly one of {', '.join(TIMES)}",
        )
        for field, (least, most) in WHOLE_FIELDS.items():
            object.__setattr__(self, field, whole(self._named(field), getattr(self, field), least, most))
        for field, (lowest, highest) in NUMBER_FIELDS.items():
            if getattr(self, field) is not None or field not in TIMES:
                object.__setattr__(self, field, number(self._named(field), getattr(self, field), lowest, highest))
        if self.latency_ns is not None and self.issue_ns > self.latency_ns:
            raise InvalidInput(
                f"{self._named('issue_ns')} is a part of latency_ns, expected at most {self.latency_ns:g}, "
                f"got {self.issue_ns:g}"
            )

    def _named(self, field: str) -> str:
        return f"kernel {self.name!r}: {field}"

    def max_residency(self, device: Device) -> int:
        """Largest number of resident blocks per SM of the kernel alone; 0 if no block fits."""
        return _core.max_residency(device, self._needs)

    def on(self, device: Device) -> _core.KernelModel:
        """The core's model, with the block time split for this device."""
        return _on(self, device)

    @property
    def _needs(self) -> _core.KernelModel:
        return self._core_model(latency_ns=1, issue_ns=0)

    def _core_model(self, latency_ns: int, issue_ns: int) -> _core.KernelModel:
        return _core.KernelModel(
            self.name,
            threads=self.threads,
            registers_per_thread=self.registers_per_thread,
            shared_memory_bytes=self.shared_memory_bytes,
            latency_ns=latency_ns,
            issue_ns=issue_ns,
            off_sm_bytes=self.off_sm_bytes,
            llc_hit_ratio=self.llc_hit_ratio,
            dram_cost_ratio=self.dram_cost_ratio,
            memory_ns=round(self.memory_ns),
            variation_ratio=self.variation_ratio,
            startup_ratio=self.startup_ratio,
            stagger_ratio=self.stagger_ratio,
            trend_ratio=self.trend_ratio,
            flops=self.flops,
        )


@lru_cache(maxsize=4096)
def _on(kernel: KernelModel, device: Device) -> _core.KernelModel:
    if kernel.latency_ns is not None:
        return kernel._core_model(round(kernel.latency_ns), round(kernel.issue_ns))
    mean_ns = kernel.mean_block_time_ns
    if mean_ns is None:
        assert kernel.mean_block_time_cycles is not None  # one of the three is given
        mean_ns = kernel.mean_block_time_cycles / device.clock_hz * 1e9
    residency = kernel.max_residency(device)
    if residency == 0:
        return kernel._core_model(round(mean_ns), 0)  # the core raises InvalidInput, which names the resource
    latency_ns, issue_ns = _core.split_block_time(round(mean_ns), residency, kernel.issue_utilisation_ratio)
    return kernel._core_model(latency_ns, issue_ns)
