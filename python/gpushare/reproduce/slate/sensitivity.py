# SPDX-License-Identifier: Apache-2.0
"""Assumptions about details of the benchmarks that Slate's paper does not state, and their effects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from gpushare.compare import compare
from gpushare.extras import pandas as pd
from gpushare.model.kernel_model import KernelModel
from gpushare.model.workload import Launch, Workload
from gpushare.reproduce.reproduction import Section
from gpushare.reproduce.slate.runs import MPS, PAPER, POLICIES, pairs, throughputs

Change = Callable[[Launch], Launch]

SHOWN = {"BS-RG", "GS-GS", "GS-RG", "MM-RG", "RG-RG", "RG-TR"}


def _costs(name: str, **costs: Any) -> Change:
    def change(launch: Launch) -> Launch:
        if launch.kernel.name != name:
            return launch
        assert isinstance(launch.kernel, KernelModel)
        return Launch(replace(launch.kernel, **costs), launch.blocks)

    return change


def _finer_random(launch: Launch) -> Launch:
    """RG in nine full rounds on 30 SMs with 5 blocks each, for the same work in the same time."""
    kernel = launch.kernel
    if kernel.name != "QuasiRandom" or not isinstance(kernel, KernelModel):
        return launch
    assert kernel.latency_ns is not None
    rounds, places = 9, 30 * 5
    part = 128 / (rounds * places)
    finer = replace(
        kernel,
        latency_ns=kernel.latency_ns / rounds,
        issue_ns=kernel.issue_ns * part,
        off_sm_bytes=round(kernel.off_sm_bytes * part),
        flops=kernel.flops * part,
    )
    return Launch(finer, rounds * places)


@dataclass(frozen=True)
class Assumption:
    """A changed assumption: the change of launches, and the policy for Slate's figures."""

    change: Change = lambda launch: launch
    policy: str = "slate"
    is_of_slate_alone: bool = False


GAIN_OF_GAUSSIAN = PAPER["table_3"]["cuda_s"] / PAPER["table_3"]["slate_s"]

ASSUMPTIONS = {
    "as assumed": Assumption(),
    "RG in 1350 blocks, not 128": Assumption(_finer_random),
    "GS limited by DRAM, its SMs as fast as BS's": Assumption(
        _costs("Gaussian", llc_hit_ratio=0.0, dram_cost_ratio=1.6066, latency_ns=570.9)
    ),
    "GS alone faster under Slate, as in Table III": Assumption(
        _costs("Gaussian", latency_ns=2884.0 / GAIN_OF_GAUSSIAN), is_of_slate_alone=True
    ),
    "BS's memory needs 15 SMs, not 9": Assumption(_costs("BlackScholes", latency_ns=2403.0)),
    "MM's loads all from DRAM": Assumption(_costs("SGEMM", llc_hit_ratio=0.0)),
    "ranges sized for balance": Assumption(policy="slate:sizes=balance"),
}


def sensitivity_section(benchmarks: Workload, device: str, progress: bool | None = None) -> Section:
    """Throughput of Slate over MPS, one assumption changed at a time."""
    rows = {words: _gains(benchmarks, each, device, progress) for words, each in ASSUMPTIONS.items()}
    return Section("Sensitivity to what the paper leaves open", pd.DataFrame(rows).T, NOTE)


def changed(benchmarks: Workload, change: Change) -> Workload:
    """The benchmarks with every launch changed."""
    applications = [
        replace(each, operations=tuple(change(launch) for _, launch in each.launches()))
        for each in benchmarks.applications
    ]
    return replace(benchmarks, applications=tuple(applications))


def _gains(benchmarks: Workload, assumption: Assumption, device: str, progress: bool | None) -> pd.Series:
    new = changed(benchmarks, assumption.change)
    mps = _throughput(benchmarks if assumption.is_of_slate_alone else new, POLICIES[MPS], device, progress)
    return _throughput(new, assumption.policy, device, progress) / mps


def _throughput(benchmarks: Workload, policy: str, device: str, progress: bool | None) -> pd.Series:
    shown = [pair for pair in pairs(benchmarks) if pair.name in SHOWN]
    return throughputs(compare(shown, [policy], device=device, progress=progress), {policy: policy})[policy]


NOTE = (
    "Throughput of Slate over MPS for GS-GS and for the pairs with RG, the only ones that Table I calls complementary. "
    "The paper: GS-GS 1.24, BS-RG 1.31, GS-RG 1.35, MM-RG and RG-TR less. Table III's gain is that of blocks in order, "
    "which find more in L1."
)
