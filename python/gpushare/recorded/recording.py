# SPDX-License-Identifier: Apache-2.0
"""A recording of all processes of a program: a folder with one file per process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gpushare._core import InvalidInput
from gpushare.model.kernel_model import LONGEST_BLOCK_NS
from gpushare.recorded.trace_format import ON_DEVICE, TAKEN, CopyRecord, DeviceRecord, Direction, KernelRecord
from gpushare.recorded.trace_reader import Part, Work, read_part

PART_SUFFIX = ".part"


def engine_of(work: Work) -> str | None:
    """The engine that it occupies: "kernel", "to_device", "to_host", or None."""
    if isinstance(work, KernelRecord):
        return "kernel"
    if isinstance(work, CopyRecord):
        if work.direction in (Direction.TO_DEVICE, Direction.TO_DEVICE_ARRAY):
            return "to_device"
        if work.direction in (Direction.TO_HOST, Direction.ARRAY_TO_HOST):
            return "to_host"
    return None


@dataclass(frozen=True)
class Recording:
    """The parts, in order of their first work, and the start of the whole recording."""

    path: Path
    parts: tuple[Part, ...]
    whole_began: int | None = None

    @property
    def began(self) -> int:
        """Start of the first operation of the whole recording."""
        return min(part.work[0].start for part in self.parts) if self.whole_began is None else self.whole_began

    @property
    def device(self) -> int:
        """The GPU with most of the work."""
        busy: dict[int, int] = {}
        for part in self.parts:
            for work in part.work:
                busy[work.stream.device] = busy.get(work.stream.device, 0) + work.end - work.start
        return min(busy, key=lambda device: (-busy[device], device))

    def device_record(self) -> DeviceRecord:
        """The properties of that GPU.

        Raises:
            InvalidInput: no part has them.
        """
        number = self.device
        for part in self.parts:
            if number in part.devices:
                return part.devices[number]
        raise InvalidInput(f"{self.path}: nothing is recorded of GPU {number} itself: the recording is cut too early")

    def between(self, begin_ns: float, end_ns: float) -> Recording:
        """The operations that began in this time, counted from the start of the first operation.

        Raises:
            InvalidInput: there are none.
        """
        parts = [_cut(part, self.began, begin_ns, end_ns) for part in self.parts]
        working = tuple(part for part in parts if part.work)
        if not working:
            raise InvalidInput(f"{self.path}: nothing began between {begin_ns / 1e6:g} and {end_ns / 1e6:g} ms")
        return Recording(self.path, working, self.began)

    def work_of(self, part: Part) -> list[Work]:
        """The finished work of a process on that GPU, in order of its start."""
        number = self.device
        return [work for work in part.work if work.stream.device == number]

    def too_long(self, work: Work) -> InvalidInput:
        """The error for an operation that is too long for simulated devices."""
        what = f"kernel {work.name!r}" if isinstance(work, KernelRecord) else "a copy"
        return InvalidInput(
            f"{self.path}: {what}, which began at {(work.start - self.began) / 1e6:.3f} ms, took "
            f"{(work.end - work.start) / 1e9:.1f} s; a block or a copy may take {LONGEST_BLOCK_NS / 1e9:g} s in a "
            "replay: with --between BEGIN:END choose the time before it or after it"
        )

    def remarks(self) -> Iterator[str]:
        """Missing data, in sentences."""
        number = self.device
        for part in self.parts:
            process = f"process {part.process} ({program_name(part)})"
            yield from (f"{process}: {problem}" for problem in part.problems)
            if part.is_cut:
                yield (
                    f"{process}: its file ends within a record, and later records are missing: the disk was "
                    "full, or the process was killed while it wrote"
                )
            elif part.ended is None:
                yield f"{process} was killed, or became another program: its last 0.1 s may be missing"
            if part.lost:
                yield f"{process}: CUPTI had no room for {part.lost} records"
            if part.unfinished:
                yield f"{process}: {part.unfinished} operations had not ended when it did; they are left out"
            elsewhere = sum(work.stream.device != number for work in part.work)
            if elsewhere:
                yield f"{process}: {elsewhere} operations on other GPUs than {number} are left out"


def read_recording(path: Path) -> Recording:
    """Reads the recording in this folder.

    Raises:
        InvalidInput: there is none, a file of it is not a trace, or it has no work for a GPU.
    """
    if not path.is_dir():
        raise InvalidInput(f"{path}: there is no such folder with a recording")
    files = sorted(path.glob(f"*{PART_SUFFIX}"))
    if not files:
        raise InvalidInput(f"{path}: has no {PART_SUFFIX} files: it is not a recording, or the program used no CUDA")
    parts = [read_part(file) for file in files]
    working = [part for part in parts if part.work]
    if not working:
        problems = [problem for part in parts for problem in part.problems]
        raise InvalidInput(
            f"{path}: nothing was recorded: {problems[0]}"
            if problems
            else f"{path}: the program used CUDA, but launched and copied nothing"
        )
    return Recording(path, tuple(sorted(working, key=lambda part: (part.work[0].start, part.path.name))))


def _cut(part: Part, zero: int, begin_ns: float, end_ns: float) -> Part:
    kept: dict[str, Any] = {
        kind: [work for work in getattr(part, kind) if begin_ns <= work.start - zero < end_ns]
        for kind in ("kernels", "copies", "memsets")
    }
    return replace(part, **kept)


def most_memory(part: Part, device: int) -> int:
    """Peak of the process's allocations on this GPU, in bytes."""
    held: dict[tuple[int, int], int] = {}
    most = now = 0
    for each in sorted(part.memory, key=lambda each: each.time):
        if each.device != device or each.memory not in ON_DEVICE:
            continue
        place = (each.context, each.address)
        now -= held.pop(place, 0)
        if each.what == TAKEN:
            held[place] = each.bytes
            now += each.bytes
            most = max(most, now)
    return most


def program_name(part: Part) -> str:
    """A short name of the process: a script's name rather than its interpreter's.

    >>> program_name(Part(Path("p"), command=("/usr/bin/python3", "-u", "train.py", "--fast")))
    'train'
    >>> program_name(Part(Path("p"), command=("./saxpy", "5")))
    'saxpy'
    """
    if not part.command or not part.command[0]:
        return f"process {part.process}"
    program = os.path.basename(part.command[0])
    if program.startswith("python"):
        scripts = [word for word in part.command[1:] if word.endswith(".py")]
        return Path(scripts[0]).stem if scripts else program
    return program
