# SPDX-License-Identifier: Apache-2.0
"""Tables of profiles: one line per kernel, and one per kind of copy."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from gpushare.cli.output import duration, print_table, remark, say, share

if TYPE_CHECKING:
    from gpushare.profile.record import CopyCurve, KernelProfile
    from gpushare.profile.toml_export import ProfileFile

NOTHING = "-"
COLUMNS = [
    "kernel",
    "GPU",
    "block",
    "blocks",
    "alone",
    "block time",
    "variation",
    "registers",
    "per SM",
    "IPC",
    "L2 hits",
    "DRAM",
    "energy",
    "model",
]


def print_profiles(shown: ProfileFile, path: Path) -> None:
    """Prints profiles that were measured, imported or listed."""
    if shown.kernels:
        print_table("kernels", COLUMNS, [_kernel_row(each) for each in shown.kernels], texts=3)
    for device in shown.devices:
        rows = [_copy_row(curve) for curve in device.copies]
        columns = ["direction", "host memory", "1 KB", "largest", "GB/s"]
        print_table(f"copies of {device.conditions.device}", columns, rows, texts=2)
    for reason in dict.fromkeys(_reasons(shown)):
        remark(reason)
    if not shown.kernels and not shown.devices:
        say(f"no profiles to show; the store is {path}")


def _reasons(shown: ProfileFile) -> list[str]:
    return [reason for each in shown.kernels for reason in (each.no_counters, each.no_energy) if reason]


def _kernel_row(profile: KernelProfile) -> list[str]:
    times, counters, energy = profile.block_times, profile.counters, profile.energy
    variation = times.group_variation_ratio if times else None
    moved = counters.dram_read_bytes + counters.dram_written_bytes if counters else 0
    return [
        profile.kernel,
        profile.conditions.device,
        "x".join(str(extent) for extent in profile.block),
        str(profile.blocks),
        duration(profile.median_alone_ns),
        duration(times.steady_ns) if times else "whole",
        NOTHING if variation is None else share(variation),
        _before_and_after(profile.registers, profile.worker_registers),
        _before_and_after(profile.residency, profile.worker_residency),
        f"{counters.ipc:.2f}" if counters else NOTHING,
        share(counters.l2_hit_ratio) if counters else NOTHING,
        f"{moved / profile.median_alone_ns:.0f} GB/s" if counters else NOTHING,
        f"{energy.joules * 1e3:.3g} mJ" if energy else NOTHING,
        share(median(profile.fit.errors)) if profile.fit else NOTHING,
    ]


def _before_and_after(original: int, worker: int | None) -> str:
    return str(original) if worker in (None, original) else f"{original} -> {worker}"


def _copy_row(curve: CopyCurve) -> list[str]:
    return [
        curve.direction.replace("_", " "),
        curve.memory,
        duration(curve.host_ns[0]),
        duration(curve.host_ns[-1]),
        f"{curve.bytes[-1] / curve.host_ns[-1]:.1f}",
    ]
