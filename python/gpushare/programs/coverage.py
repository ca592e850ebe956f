# SPDX-License-Identifier: Apache-2.0
"""Processes of a program that use the GPU past gpushare's library: found by what they have mapped."""

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
    """A process that uses the driver past the library.

    Attributes:
        pid: of the process.
        name: of its program.
        gpu_s: seconds for which the GPU ran its kernels, by NVML; None where NVML does not tell.
    """

    pid: int
    name: str
    gpu_s: float | None = None


@dataclass
class Coverage:
    """What was seen of a program, and what was not.

    Attributes:
        root: its first process.
        escaped: its processes that use the driver past the library, by process id.
    """

    root: int
    escaped: dict[int, Escaped] = field(default_factory=dict)
    _usage: Any = None
    _looked_s: float = field(default_factory=time.monotonic)

    def look(self) -> None:
        """Goes through the program's processes. Takes about a millisecond for each ten."""
        now_s = time.monotonic()
        for pid in descendants(self.root):
            if pid not in self.escaped and _escapes(pid):
                self.escaped[pid] = Escaped(pid, _name_of(pid))
        if self.escaped:
            self._weigh(now_s - self._looked_s)
        self._looked_s = now_s

    def ratio(self, seen_gpu_s: float) -> float | None:
        """GPU time that was seen, of all that is known of; None where some of it cannot be told."""
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
        """Without NVML it tells nothing."""
        try:
            import pynvml

            pynvml.nvmlInit()
        except Exception:  # whatever is wrong with it
            return _Usage(None)
        return _Usage(pynvml)

    def shares(self) -> dict[int, float]:
        """Since the last call, of 1, by process."""
        found: dict[int, float] = {}
        if self._nvml is None:
            return found
        with suppress(Exception):  # no process has run anything lately, for one
            for number in range(self._nvml.nvmlDeviceGetCount()):
                device = self._nvml.nvmlDeviceGetHandleByIndex(number)
                for sample in self._nvml.nvmlDeviceGetProcessUtilization(device, self._since_us):
                    found[sample.pid] = max(found.get(sample.pid, 0.0), sample.smUtil / 100)
        self._since_us = time.time_ns() // 1000
        return found


def descendants(root: int) -> list[int]:
    """The process and all that it has started, and these, as far as they still have a parent among them."""
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
    """Has it mapped the driver, and not the library?"""
    try:
        lines = Path(f"/proc/{pid}/maps").read_text(errors="replace").splitlines()
    except OSError:  # it has ended, or is another user's
        return False
    mapped = {line.split(maxsplit=5)[-1] for line in lines}
    names = {os.path.basename(name) for name in mapped}
    return str(LIBRARY.resolve()) not in mapped and any(name.startswith(DRIVER) for name in names)


def _name_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
    except OSError:
        return "?"
