# SPDX-License-Identifier: Apache-2.0
"""Models fitted to a profile, with their residuals, stored with the measurements."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class BlockFit:
    """Costs of a block in the contention model (:class:`gpushare.KernelModel`), and residuals of the fit.

    Attributes:
        latency_ns: as in the model.
        issue_ns: as in the model.
        memory_ns: as in the model.
        off_sm_bytes: as in the model.
        llc_hit_ratio: as in the model.
        dram_cost_ratio: as in the model.
        variation_ratio: as in the model; from the block times.
        startup_ratio: as in the model.
        stagger_ratio: as in the model.
        trend_ratio: as in the model.
        against_sms: model / measured - 1 of every point's rate, including points without weight.
        against_residency: the same for the curve against residency.
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
        bandwidth_gb_per_s: asymptotic bandwidth.
        latency_ns: time of an empty copy.
        residuals: model / measured - 1 of every point's time, by the host's clock.
    """

    bandwidth_gb_per_s: float
    latency_ns: float
    residuals: tuple[float, ...]
