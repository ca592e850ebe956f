# SPDX-License-Identifier: Apache-2.0
"""Reads the trace of one recorded process, complete or truncated."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from gpushare._core import InvalidInput
from gpushare.recorded.trace_format import (
    BODY,
    FILE_HEADER,
    MAGIC,
    RECORD_HEADER,
    VERSION,
    CallRecord,
    CopyRecord,
    DeviceRecord,
    KernelRecord,
    Kind,
    MemoryRecord,
    MemsetRecord,
    Stream,
    WaitRecord,
)

MOST_BYTES_OF_A_RECORD = 1 << 20

Work = KernelRecord | CopyRecord | MemsetRecord


@dataclass
class Part:
    """The trace of one process.

    Attributes:
        path: the file.
        process: process id; 0 if the file is truncated before it.
        parent: id of its parent process.
        started: time of its first use of CUDA, in nanoseconds on the clock of all records.
        command: its command line.
        ended: time of its regular end; None if it was killed, or replaced itself by another program.
        is_cut: whether the file ends within a record.
        lost: records for which CUPTI had no room.
        problems: other missing data and the reasons, in sentences.
    """

    path: Path
    process: int = 0
    parent: int = 0
    started: int = 0
    command: tuple[str, ...] = ()
    ended: int | None = None
    is_cut: bool = False
    lost: int = 0
    problems: list[str] = field(default_factory=list)
    devices: dict[int, DeviceRecord] = field(default_factory=dict)
    kernels: list[KernelRecord] = field(default_factory=list)
    copies: list[CopyRecord] = field(default_factory=list)
    memsets: list[MemsetRecord] = field(default_factory=list)
    waits: list[WaitRecord] = field(default_factory=list)
    calls: list[CallRecord] = field(default_factory=list)
    memory: list[MemoryRecord] = field(default_factory=list)

    @cached_property
    def work(self) -> list[Work]:
        """Finished kernels, copies and memsets, in order of their start; without empty copies."""
        kept = [work for work in self._everything() if _is_whole(work) and not _is_nothing(work)]
        return sorted(kept, key=lambda work: (work.start, work.end, work.correlation))

    @cached_property
    def unfinished(self) -> int:
        """Number of operations that had not ended when the process did."""
        return sum(not _is_whole(work) for work in self._everything())

    def _everything(self) -> list[Work]:
        return [*self.kernels, *self.copies, *self.memsets]


def _is_whole(work: Work) -> bool:
    return 0 < work.start <= work.end


def _is_nothing(work: Work) -> bool:
    return isinstance(work, CopyRecord) and work.bytes == 0


def read_part(path: Path) -> Part:
    """Reads the records of this file.

    Raises:
        InvalidInput: it is not a trace, has another version, or is damaged; the message names file and place.
    """
    data = path.read_bytes()
    part = Part(path)
    records = list(_records(data, part))
    names = {values[0]: _text(text) for kind, values, text in records if kind is Kind.KERNEL_NAME}
    for kind, values, text in records:
        if kind in READ:
            READ[kind](part, values, text, names)
    return part


def _records(data: bytes, part: Part) -> Iterator[tuple[Kind, tuple[Any, ...], bytes]]:
    place = _after_header(data, part.path)
    known = {kind.value: kind for kind in Kind}
    while place < len(data):
        if place + RECORD_HEADER.size > len(data):
            part.is_cut = True
            return
        size, number = RECORD_HEADER.unpack_from(data, place)
        kind = known.get(number)
        least = RECORD_HEADER.size + (BODY[kind].size if kind else 0)
        if not least <= size <= MOST_BYTES_OF_A_RECORD:
            raise InvalidInput(
                f"{part.path}: is damaged at byte {place}: a record of kind {number} cannot have {size} bytes"
            )
        if place + size > len(data):
            part.is_cut = True
            return
        if kind is not None:
            yield kind, BODY[kind].unpack_from(data, place + RECORD_HEADER.size), data[place + least : place + size]
        place += size


def _after_header(data: bytes, path: Path) -> int:
    if data[: len(MAGIC)] != MAGIC:
        raise InvalidInput(f"{path}: is not a trace of gpushare record")
    if len(data) < FILE_HEADER.size:
        raise InvalidInput(f"{path}: is cut within its header: nothing of it can be read")
    _, version, size = FILE_HEADER.unpack_from(data)
    if version != VERSION:
        raise InvalidInput(f"{path}: is a trace of version {version}; this gpushare reads version {VERSION}")
    return size


def _text(text: bytes) -> str:
    return text.decode("utf-8", errors="replace")


def _process(part: Part, values: tuple[Any, ...], text: bytes, _names: dict[int, str]) -> None:
    part.process, part.parent, part.started = values
    part.command = tuple(_text(each) for each in text.rstrip(b"\0").split(b"\0"))


def _device(part: Part, values: tuple[Any, ...], text: bytes, _names: dict[int, str]) -> None:
    device = DeviceRecord(*(*values, _text(text)))
    part.devices[device.device] = device


def _kernel(part: Part, values: tuple[Any, ...], _text: bytes, names: dict[int, str]) -> None:
    start, end, device, context, stream, correlation, name, *sizes, registers, static, dynamic, graph = values
    grid, block = tuple(sizes[:3]), tuple(sizes[3:])
    where = Stream(device, context, stream)
    called = names.get(name, f"kernel {name}")
    part.kernels.append(
        KernelRecord(start, end, where, correlation, called, grid, block, registers, static + dynamic, graph)
    )


def _copy(part: Part, values: tuple[Any, ...], _text: bytes, _names: dict[int, str]) -> None:
    start, end, size, device, context, stream, correlation, direction, source, target, is_asynchronous = values
    where = Stream(device, context, stream)
    part.copies.append(
        CopyRecord(start, end, size, where, correlation, direction, source, target, bool(is_asynchronous))
    )


def _memset(part: Part, values: tuple[Any, ...], _text: bytes, _names: dict[int, str]) -> None:
    start, end, size, device, context, stream, correlation = values
    part.memsets.append(MemsetRecord(start, end, size, Stream(device, context, stream), correlation))


def _wait(part: Part, values: tuple[Any, ...], _text: bytes, _names: dict[int, str]) -> None:
    part.waits.append(WaitRecord(*values))


def _call(part: Part, values: tuple[Any, ...], _text: bytes, _names: dict[int, str]) -> None:
    part.calls.append(CallRecord(*values))


def _memory(part: Part, values: tuple[Any, ...], _text: bytes, _names: dict[int, str]) -> None:
    part.memory.append(MemoryRecord(*values))


def _lost(part: Part, values: tuple[Any, ...], _text: bytes, _names: dict[int, str]) -> None:
    part.lost += values[0]


def _problem(part: Part, _values: tuple[Any, ...], text: bytes, _names: dict[int, str]) -> None:
    part.problems.append(_text(text))


def _end(part: Part, values: tuple[Any, ...], _text: bytes, _names: dict[int, str]) -> None:
    part.ended = values[0]


READ: dict[Kind, Callable[[Part, tuple[Any, ...], bytes, dict[int, str]], None]] = {
    Kind.PROCESS: _process,
    Kind.DEVICE: _device,
    Kind.KERNEL: _kernel,
    Kind.COPY: _copy,
    Kind.MEMSET: _memset,
    Kind.WAIT: _wait,
    Kind.CALL: _call,
    Kind.LOST: _lost,
    Kind.PROBLEM: _problem,
    Kind.END: _end,
    Kind.MEMORY: _memory,
}
