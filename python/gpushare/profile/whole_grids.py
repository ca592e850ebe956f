# SPDX-License-Identifier: Apache-2.0
"""Simulates grids of few waves, which have no steady rate, and compares them with measurements.

They also determine the variation of blocks. Groups of observed blocks differ because an SM serves some before others,
which takes no extra time; blocks that differ in work make the last wave longer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from gpushare import _core
from gpushare._core import Device
from gpushare.fixed_parts import FixedParts, Part
from gpushare.model.devices import changed_device
from gpushare.model.kernel_model import KernelModel
from gpushare.model.workload import Application, Launch, Workload
from gpushare.profile.points import LAUNCH_NS, Point

VARIATION_RATIOS = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8)


def without_scheduler(device: Device) -> Device:
    """The device as a trial uses it: workers are launched at once, and quotas stay as they are."""
    return changed_device(device, delays=_core.CommandDelays(launch_ns=round(LAUNCH_NS)))


def best_variation_ratio(model: KernelModel, blocks: int, points: Sequence[Point], device: Device) -> float:
    """The value of ``VARIATION_RATIOS`` that fits the measured grids best in simulation; 0 without any.

    Args:
        model: model of the kernel.
        blocks: blocks of the grid.
        points: the points; those with a ``whole_ns`` count.
        device: the device without scheduling costs.
    """
    some = [each for each in points if each.whole_ns > 0]
    if not some:
        return 0.0

    def error(ratio: float) -> float:
        varied = replace(model, variation_ratio=ratio)
        return sum(abs(math.log(grid_ns(varied, blocks, each, device) / each.whole_ns)) for each in some)

    return min(VARIATION_RATIOS, key=error)


def grid_ns(model: KernelModel, blocks: int, point: Point, device: Device) -> int:
    """From the launch to the end of a grid with so many SMs and blocks on each, simulated."""
    workload = Workload(model.name, (Application(model.name, (Launch(model, blocks),)),))
    policy = FixedParts("part", {model.name: Part(0, point.sms, point.residency)})
    return _core.simulate([device], [workload.on(device)], [policy]).ends[0]
