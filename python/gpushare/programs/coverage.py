# SPDX-License-Identifier: Apache-2.0
"""Finds processes of a program that use the GPU without gpushare's library, by their mapped files."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpushare.programs.driver_folder import LIBRARY

DRIVER = "libcuda.so."


@dataclass
class Escaped:
    """A process that uses the driver without the library.

    Attributes:
        pid: process id.
        name: name of its program.
        gpu_s: seconds of GPU time of its kernels, from NVML; None where NVML has no data.
    """

    pid: int
    name: str
    gpu_s: float | None = None


@dataclass
class Coverage:
    """The observed part of a program's GPU time.

    Attributes:
        root: its first process.
        escaped: its processes that use the driver without the library, by process id.
    """

    root: int
    escaped: dict[int, Escaped] = field(default_factory=dict)
    _usage: Any = None
    _looked_s: float = field(default_factory=time.monotonic)

    def look(self) -> None:
        """Checks the program's processes. Takes about a millisecond per ten processes."""
        now_s = time.monotonic()
        for pid in descendants(self.root):
            if pid not in self.escaped and _escapes(pid):
                self.escaped[pid] = Escaped(pid, _name_of(pid))
        if self.escaped:
            self._weigh(now_s - self._looked_s)
        self._looked_s = now_s

    def ratio(self, seen_gpu_s: float) -> float | None:
        """Observed GPU time relative to all that is known; None where a part is not known."""
        missed = [each.gpu_s for each in self.escaped.values()]
        known = [each for each in missed if each is not None]
        if len(known) < len(missed):
            return None
        total_s = seen_gpu_s + sum(known)
        return seen_gpu_s / total_s if total_s > 0 else 1.0

    def _weigh(self, elapsed_s: float) -> None:
        if self._usage is None:
            self._usage = _Usage.opened()
        for pid, share in self._usage.shares().items():
            if (escaped := self.escaped.get(pid)) is not None:
                escaped.gpu_s = (escaped.gpu_s or 0.0) + share * elapsed_s


class _Usage:
    """Shares of the GPUs' time by process, as NVML samples them."""

    def __init__(self, nvml: Any) -> None:
        self._nvml = nvml
        self._since_us = 0

    @staticmethod
    def opened() -> _Usage:
        """Opens NVML; without it there is no data."""
        try:
            import pynvml

            pynvml.nvmlInit()
        except Exception:  # any error of NVML
            return _Usage(None)
        return _Usage(pynvml)

    def shares(self) -> dict[int, float]:
        """Shares since the last call, in 0..1, by process."""
        found: dict[int, float] = {}
        if self._nvml is None:
            return found
        with suppress(Exception):  # for example, no process has run a kernel lately
            for number in range(self._nvml.nvmlDeviceGetCount()):
                device = self._nvml.nvmlDeviceGetHandleByIndex(number)
                for sample in self._nvml.nvmlDeviceGetProcessUtilization(device, self._since_us):
                    found[sample.pid] = max(found.get(sample.pid, 0.0), sample.smUtil / 100)
        self._since_us = time.time_ns() // 1000
        return found


def descendants(root: int) -> list[int]:
    """The process and all its descendants that still have a parent among them."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError, ValueError, IndexError):
                parent = int((entry / "stat").read_text(errors="replace").rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(entry.name))
    found = [root]
    for pid in found:
        found.extend(children.get(pid, []))
    return found


def _escapes(pid: int) -> bool:
    """Whether it has mapped the driver, and not the library."""
    try:
        lines = Path(f"/proc/{pid}/maps").read_text(errors="replace").splitlines()
    except OSError:  # it has ended, or belongs to another user
        return False
    mapped = {line.split(maxsplit=5)[-1] for line in lines}
    names = {os.path.basename(name) for name in mapped}
    return str(LIBRARY.resolve()) not in mapped and any(name.startswith(DRIVER) for name in names)


def _name_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
    except OSError:
        return "?"
