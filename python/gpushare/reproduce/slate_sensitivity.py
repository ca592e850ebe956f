# SPDX-License-Identifier: Apache-2.0
"""What Slate's paper leaves open of its benchmarks, and how much the gains depend on what is assumed instead."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from gpushare.compare import compare
from gpushare.kernel_model import KernelModel
from gpushare.reproduce.reproduction import Section
from gpushare.reproduce.slate import MPS, POLICIES, SLATE, pairs, throughputs
from gpushare.workload import Application, Launch, Workload

if TYPE_CHECKING:
    import pandas as pd

Change = Callable[[Launch], Launch]


def _costs(name: str, **costs: float) -> Change:
    def change(launch: Launch) -> Launch:
        if launch.kernel.name != name:
            return launch
        assert isinstance(launch.kernel, KernelModel)
        return Launch(replace(launch.kernel, **costs), launch.blocks)

    return change


def _finer_random(launch: Launch) -> Launch:
    """RG with ten times the blocks, each a tenth of the work, so that its grid fills the GPU on any SMs."""
    kernel = launch.kernel
    if kernel.name != "QuasiRandom" or not isinstance(kernel, KernelModel) or kernel.latency_ns is None:
        return launch
    # As many blocks at once as before, or it would be faster: in 150 places instead of 128.
    slower = 150 / 128
    finer = replace(
        kernel,
        latency_ns=kernel.latency_ns / 10 * slower,
        issue_ns=kernel.issue_ns / 10,
        off_sm_bytes=kernel.off_sm_bytes // 10,
        flops=kernel.flops / 10,
    )
    return Launch(finer, 1280)


ASSUMPTIONS: dict[str, tuple[Change, str]] = {
    "as assumed": (lambda launch: launch, "slate"),
    "RG in 1280 blocks, not 128": (_finer_random, "slate"),
    "GS limited by DRAM, its SMs as fast as BS's": (
        _costs("Gaussian", llc_hit_ratio=0.0, dram_cost_ratio=1.6066, latency_ns=570.9),
        "slate",
    ),
    "BS's memory needs 15 SMs, not 9": (_costs("BlackScholes", latency_ns=2403.0), "slate"),
    "MM's issue slots 50% busy": (_costs("SGEMM", issue_utilisation_ratio=0.5), "slate"),
    "MM's loads all from DRAM": (_costs("SGEMM", llc_hit_ratio=0.0), "slate"),
    "ranges sized for balance": (lambda launch: launch, "slate:sizes=balance"),
}
"""What is changed, how, and under which policy."""


def sensitivity_section(benchmarks: Workload, device: str, progress: bool | None = None) -> Section:
    """Throughput of Slate over MPS for the pairs that it runs together, one assumption changed at a time."""
    import pandas as pd

    rows = {
        words: _gains(changed(benchmarks, change), device, policy, progress)
        for words, (change, policy) in ASSUMPTIONS.items()
    }
    return Section("Sensitivity to what the paper leaves open", pd.DataFrame(rows).T, NOTE)


def changed(benchmarks: Workload, change: Change) -> Workload:
    """The benchmarks with every launch changed."""
    applications = [
        Application(each.name, tuple(change(launch) for _, launch in each.launches())) for each in benchmarks.applications
    ]
    return replace(benchmarks, applications=tuple(applications))


def _gains(benchmarks: Workload, device: str, policy: str, progress: bool | None) -> pd.Series:
    words = {MPS: POLICIES[MPS], SLATE: policy}
    with_random = [pair for pair in pairs(benchmarks) if "RG" in pair.name.split("-")]
    throughput = throughputs(compare(with_random, words.values(), device=device, progress=progress), words)
    return throughput[SLATE] / throughput[MPS]


NOTE = (
    "Throughput of Slate over MPS for the pairs with RG, the only ones that Table I calls complementary. The paper: "
    "BS-RG 1.31, GS-RG 1.35, MM-RG and RG-TR less."
)
