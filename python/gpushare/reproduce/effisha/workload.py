# SPDX-License-Identifier: Apache-2.0
"""EffiSha's eleven benchmarks: as models on a simulated device, or as kernels of the suite on a GPU."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpushare._core import Device
from gpushare.device import device as find_device
from gpushare.model.kernel_model import KernelModel
from gpushare.model.workload import Application, Launch, Workload
from gpushare.run import run
from gpushare.suite import KERNELS

PAPER: dict[str, Any] = tomllib.loads(Path(__file__).with_name("paper.toml").read_text(encoding="utf-8"))
BENCHMARKS: dict[str, dict[str, Any]] = PAPER["benchmark"]
SETTINGS = ("sjf", "group", "random")
"""Table 2's three assignments of priorities."""

THREADS = 256
"""Threads of a model's block, an assumption: eight of them then fill an SM."""
VARIATION = 0.1
"""Variation of a model's block times, an assumption: without any, all blocks would always end together."""

Priorities = dict[str, int]


@dataclass(frozen=True)
class Platform:
    """The device, and the benchmarks for it.

    Attributes:
        device: a device's name.
        seed: seed of simulated variation.
    """

    device: str = "k40m"
    seed: int = 0
    _lengths_ns: dict[str, int] = field(default_factory=dict, compare=False, repr=False)

    @property
    def is_paper(self) -> bool:
        """Whether it is the paper's device."""
        return self.device in ("k40m", "sim:k40m")

    @property
    def is_real(self) -> bool:
        """Whether it is a GPU, on which the benchmarks are kernels of the suite."""
        return self.device.startswith("cuda")

    def operations(self, benchmark: str, milliseconds: float | None = None) -> list[Launch]:
        """The benchmark's launches, with Table 2's time alone, or ``milliseconds``.

        In the paper a benchmark is one launch; on a GPU it is if the suite's kernel can have layers.
        """
        lasting = milliseconds or BENCHMARKS[benchmark]["alone_ms"]
        if not self.is_real:
            return [model(benchmark, lasting, find_device(self.device))]
        kernel = BENCHMARKS[benchmark]["suite"]
        if kernel not in self._lengths_ns:
            self._lengths_ns[kernel] = self._alone_ns(Launch.of_suite(kernel))
        times = max(1, round(lasting * 1e6 / self._lengths_ns[kernel]))
        if KERNELS[kernel].is_layerable:
            return [Launch.of_suite(kernel, layers=times)]
        return times * [Launch.of_suite(kernel)]

    def _alone_ns(self, launch: Launch) -> int:
        """Time of one of several launches in a row, so that costs per run do not count."""
        times = [
            run(Workload("alone", (Application("alone", count * [launch]),)), "fifo", device=self.device)
            for count in (2, 10)
        ]
        few, many = (each.alone_ns["alone"] for each in times)
        return max(1, (many - few) // 8)

    def requests(self, name: str, priorities: Priorities) -> Workload:
        """Section 8.1: one request after the other, 3 ms apart."""
        apart_ns = PAPER["requests_apart_ms"] * 1e6
        return Workload(
            name,
            tuple(
                Application(benchmark, self.operations(benchmark), place * apart_ns, priorities[benchmark])
                for place, benchmark in enumerate(BENCHMARKS)
            ),
        )


def table_2(setting: str) -> Priorities:
    """The priorities of one of its columns."""
    return {benchmark: figures[setting] for benchmark, figures in BENCHMARKS.items()}


def model(benchmark: str, milliseconds: float, device: Device, block_ms: float | None = None) -> Launch:
    """Whole waves of blocks that take this time together."""
    waves = max(1, round(milliseconds / (block_ms or BENCHMARKS[benchmark]["block_ms"])))
    kernel = KernelModel(
        benchmark,
        threads=THREADS,
        mean_block_time_ns=milliseconds / waves * 1e6,
        variation_ratio=VARIATION,
    )
    return Launch(kernel, waves * device.sms * kernel.max_residency(device))
