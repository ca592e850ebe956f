# SPDX-License-Identifier: Apache-2.0
"""Checks of the host: MPS, and memory for copies."""

from __future__ import annotations

import os
import re
import resource
from pathlib import Path

from gpushare.doctor.finding import Finding, State, binary_size

PIPE_DIRECTORY = "CUDA_MPS_PIPE_DIRECTORY"
DEFAULT_PIPE_DIRECTORY = "/tmp/nvidia-mps"
DAEMON_ID = "nvidia-cuda-mps-control.pid"
MEMORY = Path("/proc/meminfo")
LITTLE_MEMORY = 1 << 30


def check() -> list[Finding]:
    """The checks of MPS and pinned memory."""
    return [mps(os.environ.get(PIPE_DIRECTORY)), pinned_memory(MEMORY, resource.getrlimit(resource.RLIMIT_MEMLOCK)[0])]


def mps(chosen: str | None) -> Finding:
    """Whether a control daemon listens in the pipe directory. Only gpushare's MPS baseline needs one."""
    folder = Path(chosen or DEFAULT_PIPE_DIRECTORY)
    runs = _daemon_runs(folder / DAEMON_ID)
    facts = {"running": runs, "pipe_directory": str(folder)}
    if runs:
        return Finding("MPS", State.GOOD, f"on ({folder}): processes run on the GPU side by side", facts=facts)
    if chosen:
        details = (f"{PIPE_DIRECTORY}={chosen}, but no control daemon of this machine is there.",)
        return Finding("MPS", State.HURTS, "off, though asked for", details, "nvidia-cuda-mps-control -d", facts=facts)
    return Finding("MPS", State.GOOD, "off: processes use the GPU in time slices", facts=facts)


def _daemon_runs(path: Path) -> bool:
    try:
        os.kill(int(path.read_text()), 0)
    except PermissionError as error:
        return error.filename is None  # another user's daemon, rather than a file that cannot be read
    except (OSError, ValueError, OverflowError):
        return False
    return True


def pinned_memory(memory: Path, locked_bytes: int) -> Finding:
    """Host memory that can be pinned for copies. CUDA's does not count against ``ulimit -l``; RDMA's does."""
    limit = "unlimited" if locked_bytes == resource.RLIM_INFINITY else binary_size(locked_bytes)
    available = _available(memory)
    facts = {"available_bytes": available, "ulimit_l_bytes": None if limit == "unlimited" else locked_bytes}
    words = f"{'unknown' if available is None else binary_size(available)} available, ulimit -l {limit}"
    if available is not None and available < LITTLE_MEMORY:
        details = ("Arrays are copied through pinned host memory, which cannot be swapped out.",)
        return Finding("Pinned memory", State.HURTS, words, details, facts=facts)
    return Finding("Pinned memory", State.GOOD, words, facts=facts)


def _available(memory: Path) -> int | None:
    try:
        found = re.search(r"^MemAvailable:\s*(\d+) kB", memory.read_text(), re.MULTILINE)
    except OSError:
        return None
    return int(found[1]) * 1024 if found else None
