# SPDX-License-Identifier: Apache-2.0
"""What was fitted to a profile: models, each with its residuals. Kept beside what was measured."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class BlockFit:
    """What a block costs, as the contention model says it (:class:`gpushare.KernelModel`), and how well that fits.

    Attributes:
        latency_ns: see the model, as for all that follow.
        issue_ns: likewise.
        memory_ns: likewise.
        off_sm_bytes: likewise.
        llc_hit_ratio: likewise.
        dram_cost_ratio: likewise.
        variation_ratio: from the block times; likewise.
        startup_ratio: likewise.
        stagger_ratio: likewise.
        trend_ratio: likewise.
        against_sms: model / measured - 1 of every point's rate, that of points without weight too.
        against_residency: likewise.
    """

    latency_ns: int
    issue_ns: int
    memory_ns: int
    off_sm_bytes: int
    llc_hit_ratio: float
    dram_cost_ratio: float
    variation_ratio: float
    startup_ratio: float
    stagger_ratio: float
    trend_ratio: float
    against_sms: tuple[float, ...]
    against_residency: tuple[float, ...]

    @property
    def errors(self) -> list[float]:
        """Sizes of all residuals.

        >>> BlockFit(9, 1, 0, 0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, (-0.5,), (0.25,)).errors
        [0.5, 0.25]
        """
        return [abs(each) for each in (*self.against_sms, *self.against_residency)]


@dataclass(frozen=True)
class CopyFit:
    """The transfer model of a curve: time = latency_ns + bytes / bandwidth.

    Attributes:
        bandwidth_gb_per_s: of a copy without end.
        latency_ns: of a copy of nothing.
        residuals: model / measured - 1 of every point's time, by the host's clock.
    """

    bandwidth_gb_per_s: float
    latency_ns: float
    residuals: tuple[float, ...]
