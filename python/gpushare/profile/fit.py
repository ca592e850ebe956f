# SPDX-License-Identifier: Apache-2.0
"""Fits the contention model to curves of a kernel alone, and the transfer model to copies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpushare import _core
from gpushare._core import Device
from gpushare.model.kernel_model import KernelModel
from gpushare.profile.block_traffic import block_traffic
from gpushare.profile.fit_record import BlockFit, CopyFit
from gpushare.profile.points import Point, points_of, trend_ratio
from gpushare.profile.record import CopyCurve, DeviceProfile, KernelProfile
from gpushare.profile.whole_grids import best_variation_ratio, grid_ns, without_scheduler

DIGITS = 5
ROUNDS = 3
"""Iterations of fitting rates, and of correcting those of grids with few waves by simulation."""


def fitted(profile: KernelProfile, device: Device) -> KernelProfile:
    """The profile with a fit for this device; unchanged where it has no curves. Takes about 0.1 s."""
    if profile.against_sms is None or profile.against_residency is None or profile.block_times is None:
        return profile
    by_sms = points_of(profile, profile.against_sms)
    points = [*by_sms, *points_of(profile, profile.against_residency)]
    quick = without_scheduler(device)
    for number in range(ROUNDS):
        fit = _fit_of(profile, points, len(by_sms), device)
        model = kernel_model(profile, fit, profile.shared_bytes)
        fit = replace(fit, variation_ratio=best_variation_ratio(model, profile.blocks, points, quick))
        if number < ROUNDS - 1:
            model = kernel_model(profile, fit, profile.shared_bytes)
            residuals = (*fit.against_sms, *fit.against_residency)
            points = [
                _corrected(point, residual, model, profile.blocks, quick)
                for point, residual in zip(points, residuals, strict=True)
            ]
    return replace(profile, fit=fit)


def _corrected(point: Point, residual: float, model: KernelModel, blocks: int, device: Device) -> Point:
    """The point with the rate at which the model's whole grid would take the measured time."""
    if point.whole_ns == 0:
        return point
    ratio = grid_ns(model, blocks, point, device) / point.whole_ns
    return replace(point, blocks_per_ns=point.blocks_per_ns * (1 + residual) * ratio)


def _fit_of(profile: KernelProfile, points: Sequence[Point], by_sms: int, device: Device) -> BlockFit:
    """The fit without the variation."""
    fit = _core.fit_kernel(
        sms=[each.sms for each in points],
        residency=[each.residency for each in points],
        blocks_per_ns=[each.blocks_per_ns for each in points],
        weights=[each.weight for each in points],
        device=device,
        **block_traffic(profile),
    )
    residuals = tuple(round(each, DIGITS) for each in fit.residuals)
    trend = round(trend_ratio(profile), DIGITS)
    return BlockFit(
        latency_ns=fit.latency_ns,
        issue_ns=fit.issue_ns,
        memory_ns=fit.memory_ns,
        off_sm_bytes=fit.off_sm_bytes,
        llc_hit_ratio=round(fit.llc_hit_ratio, DIGITS),
        dram_cost_ratio=round(fit.dram_cost_ratio, DIGITS),
        variation_ratio=0.0,
        startup_ratio=round(startup_ratio(profile, trend), DIGITS),
        stagger_ratio=round(stagger_ratio(profile, trend), DIGITS),
        trend_ratio=trend,
        against_sms=residuals[:by_sms],
        against_residency=residuals[by_sms:],
    )


def kernel_model(profile: KernelProfile, fit: BlockFit, shared_bytes: int) -> KernelModel:
    """The model of the kernel's workers on a simulated device. ``shared_bytes``: dynamic shared memory per block."""
    return KernelModel(
        profile.kernel,
        threads=profile.block[0] * profile.block[1] * profile.block[2],
        registers_per_thread=profile.worker_registers or profile.registers,
        shared_memory_bytes=(profile.worker_shared_bytes or 0) + shared_bytes,
        latency_ns=fit.latency_ns,
        issue_ns=fit.issue_ns,
        memory_ns=fit.memory_ns,
        off_sm_bytes=fit.off_sm_bytes,
        llc_hit_ratio=fit.llc_hit_ratio,
        dram_cost_ratio=fit.dram_cost_ratio,
        variation_ratio=fit.variation_ratio,
        startup_ratio=fit.startup_ratio,
        stagger_ratio=fit.stagger_ratio,
        trend_ratio=fit.trend_ratio,
    )


def startup_ratio(profile: KernelProfile, trend: float = 0.0) -> float:
    """Extra work of the first wave's blocks, relative to the others."""
    return max(_first_to_steady(profile, trend) - 1, 0.0)


def stagger_ratio(profile: KernelProfile, trend: float = 0.0) -> float:
    """The stagger, from the mean time of the first wave's blocks relative to a full SM.

    >>> from types import SimpleNamespace as Some
    >>> times = Some(first_wave_ns=625.0, steady_ns=1000.0)
    >>> stagger_ratio(Some(block_times=times, worker_residency=4, blocks=9, against_sms=None))
    1.0
    """
    residency = profile.worker_residency or 1
    if residency == 1:
        return 0.0
    one_after_the_other = (residency + 1) / (2 * residency)
    return min(max((1 - _first_to_steady(profile, trend)) / (1 - one_after_the_other), 0.0), 1.0)


def _first_to_steady(profile: KernelProfile, trend: float) -> float:
    """Mean time of the first wave's blocks, corrected to the grid's mean work, divided by that of all."""
    times = profile.block_times
    if times is None or times.steady_ns <= 0:
        return 1.0
    sms = max(profile.against_sms.sms) if profile.against_sms else 1
    part = min(1.0, sms * (profile.worker_residency or 1) / profile.blocks)
    return times.first_wave_ns / times.steady_ns / (1 + trend * (1 - part))


def fitted_copies(profile: DeviceProfile) -> DeviceProfile:
    """The profile with a transfer model for every kind of copy."""
    return replace(profile, copies=tuple(replace(curve, fit=_copy_fit(curve)) for curve in profile.copies))


def _copy_fit(curve: CopyCurve) -> CopyFit | None:
    if len(set(curve.bytes)) < 2:
        return None
    fit = _core.fit_transfer(curve.bytes, curve.host_ns)
    return CopyFit(
        bandwidth_gb_per_s=round(1 / fit.ns_per_byte, DIGITS),
        latency_ns=round(fit.latency_ns, 1),
        residuals=tuple(round(each, DIGITS) for each in fit.residuals),
    )
