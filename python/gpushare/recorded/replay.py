# SPDX-License-Identifier: Apache-2.0
"""Replays recorded applications alone on the recorded GPU without scheduling costs, to check the models."""

from __future__ import annotations

from gpushare._core import Device
from gpushare.backends.simulator.simulation import alone_times
from gpushare.model.workload import Workload


def replayed_alone(workload: Workload, device: Device) -> dict[str, int]:
    """By application, the simulated nanoseconds from the start of its first operation to the end of its last one."""
    return {each.name: alone_times(each, device, 0)[0] for each in workload.applications}
