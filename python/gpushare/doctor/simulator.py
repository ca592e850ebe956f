# SPDX-License-Identifier: Apache-2.0
"""Checks the simulated devices and the kernel cache."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

import gpushare
from gpushare.doctor.finding import Finding, State, binary_size
from gpushare.kernels.cache import cache_folder
from gpushare.printable import counted

DEVICES = "Simulated GPUs"
CACHE = "Kernel cache"
REINSTALL = "pip install --force-reinstall gpushare-scheduler"


def check() -> list[Finding]:
    """The checks of the devices and of the folder of compiled kernels."""
    return [devices(), kernel_cache(cache_folder())]


def devices() -> Finding:
    """A short run on each simulated device."""
    names = [f"sim:{name}" for name in gpushare.device_names()]
    failures = tuple(f"{name}: {problem}" for name in names if (problem := _problem(name)) is not None)
    facts = {"devices": names}
    if failures or not names:
        return Finding(DEVICES, State.BROKEN, "do not run", failures, REINSTALL, facts=facts)
    return Finding(DEVICES, State.GOOD, ", ".join(names), facts=facts)


def _problem(device: str) -> str | None:
    kernel = gpushare.KernelModel("kernel", threads=128, registers_per_thread=16, latency_ns=1_000)
    one = gpushare.Workload("doctor", [gpushare.Application("one", [gpushare.Launch(kernel, 8)])])
    try:
        run = gpushare.run(one, "fifo", device=device)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None if run.record.makespan > 0 else "a run took no time"


def kernel_cache(folder: Path) -> Finding:
    """The folder of compiled kernels and their number."""
    kernels, size = sum(1 for _ in folder.glob("??/*")), _size(folder)
    facts = {"folder": str(folder), "kernels": kernels, "bytes": size, "writable": _is_writable(folder)}
    if not facts["writable"]:
        detail = "Kernels are compiled again by every process. Name a folder that can be written."
        fix = 'export GPUSHARE_CACHE_DIR="$HOME/.cache/gpushare"'
        return Finding(CACHE, State.HURTS, f"{folder} cannot be written", (detail,), fix, facts=facts)
    return Finding(CACHE, State.GOOD, f"{folder}: {counted(kernels, 'kernel')}, {binary_size(size)}", facts=facts)


def _size(folder: Path) -> int:
    total = 0
    for path in folder.glob("??/*/*"):
        with contextlib.suppress(OSError):  # another process may have just evicted it
            total += path.stat().st_size
    return total


def _is_writable(folder: Path) -> bool:
    """Whether it can be written, or created."""
    for existing in (folder, *folder.parents):
        if existing.exists():
            break
    if not (existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)):
        return False
    try:
        tempfile.TemporaryFile(dir=existing).close()  # a file system may be read-only, or full
    except OSError:
        return False
    return True
