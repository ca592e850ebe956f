# SPDX-License-Identifier: Apache-2.0
"""The recorded GPU as a simulated device, from its driver's data and without scheduling costs."""

from __future__ import annotations

import re

from gpushare._core import Device
from gpushare.model.device_file import device_from_dict
from gpushare.model.devices import device_names, simulated_device
from gpushare.recorded.trace_format import DeviceRecord

UNUSED_COPIES = {"bandwidth_gb_per_s": 25.0}
"""Recorded copies have their durations, so the device's bandwidth is not used; the format requires one."""
RESERVES_SHARED_MEMORY = 8
"""From this compute capability on, the system takes 1 KB of shared memory per block (CUDA's occupancy calculator)."""


def recorded_device(record: DeviceRecord) -> Device:
    """A device on which a recording, replayed alone, takes its recorded time."""
    reserved = 1024 if record.capability_major >= RESERVES_SHARED_MEMORY else 0
    return device_from_dict(
        {
            "name": record.name,
            "sms": record.sms,
            "clock_mhz": record.clock_khz / 1e3,
            "memory_bytes": record.memory_bytes,
            "per_sm": {
                "threads": record.warps_per_sm * record.threads_per_warp,
                "warps": record.warps_per_sm,
                "blocks": record.blocks_per_sm,
                "registers": record.registers_per_sm,
                "shared_memory_bytes": record.shared_bytes_per_sm,
            },
            "granularity": {"threads_per_warp": record.threads_per_warp, "reserved_shared_memory_bytes": reserved},
            "to_device": UNUSED_COPIES,
            "to_host": UNUSED_COPIES,
        }
    )


def simulated_twin(record: DeviceRecord) -> str | None:
    """The simulated device of this GPU, found by name and number of SMs, if there is one."""
    plain = _letters(record.name)
    for name in device_names():
        if _letters(name) in plain and simulated_device(name).sms == record.sms:
            return name
    return None


def _letters(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
