# SPDX-License-Identifier: Apache-2.0
"""Traffic of a block from hardware counters: bytes to the last-level cache and DRAM, and the longest time in memory."""

from __future__ import annotations

from gpushare.profile.record import KernelProfile

SECTOR_BYTES = 32
THREADS_PER_WARP = 32
REQUEST_NS = 600.0
"""Latency from an SM to DRAM and back on an idle H100, in nanoseconds."""


def block_traffic(profile: KernelProfile) -> dict[str, float]:
    """Arguments of the fit: cache_bytes, dram_bytes and memory_ns, the latter with a warp's requests served one by one.

    All 0 without counters: then saturation follows from the curves alone.
    """
    counters = profile.counters
    if counters is None:
        return {"cache_bytes": 0.0, "dram_bytes": 0.0, "memory_ns": 0.0}
    threads = profile.block[0] * profile.block[1] * profile.block[2]
    warps = profile.blocks * max(threads / THREADS_PER_WARP, 1)
    return {
        "cache_bytes": counters.l2_sectors_from_sms * SECTOR_BYTES / profile.blocks,
        "dram_bytes": (counters.dram_read_bytes + counters.dram_written_bytes) / profile.blocks,
        "memory_ns": counters.l2_requests_from_sms / warps * REQUEST_NS,
    }
