# SPDX-License-Identifier: Apache-2.0
"""Converts a recording to a workload that simulated devices can replay."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gpushare._core import InvalidInput
from gpushare.model.kernel_model import LONGEST_BLOCK_NS
from gpushare.model.merged_workloads import unique_names
from gpushare.model.operation import Copy, Launch, Operation
from gpushare.model.workload import Application, Workload
from gpushare.recorded.kernel_models import KernelModels
from gpushare.recorded.pacing import HostSide, Paced, paced
from gpushare.recorded.recorded_device import recorded_device, simulated_twin
from gpushare.recorded.recording import Recording, engine_of, most_memory, program_name
from gpushare.recorded.trace_format import KernelRecord
from gpushare.recorded.trace_reader import Part, Work

MUCH_OVERLAP = 0.02
"""Share of a process's time with overlapping operations above which a remark is made: a replay serialises them."""


@dataclass(frozen=True)
class Converted:
    """A workload, and remarks about it.

    Attributes:
        workload: one application per process or stream.
        full_names: the source name of every kernel.
        recorded_ns: by application, time from the start of its first operation to the end of its last one, in
            nanoseconds.
        remarks: what the workload lacks, in sentences.
    """

    workload: Workload
    full_names: Mapping[str, str]
    recorded_ns: Mapping[str, int]
    remarks: tuple[str, ...]


def converted(recording: Recording, name: str, *, by_stream: bool = False) -> Converted:
    """The workload of this recording; time 0 is the start of its first operation.

    Args:
        recording: the recording.
        name: name of the workload.
        by_stream: whether every stream becomes an application, instead of every process.

    Raises:
        InvalidInput: nothing in it can be replayed, or an operation is too long for a replay.
    """
    record = recording.device_record()
    device = recorded_device(record)
    models = KernelModels(recording, device)
    strands = _named_strands(recording, by_stream=by_stream)
    if not strands:
        raise InvalidInput(f"{recording.path}: it has memsets and copies within the GPU alone, which are not replayed")
    begin = min(strand.begin for strand in strands)
    applications = [
        Application(
            strand.name,
            tuple(_operation(each, models, recording) for each in strand.operations),
            arrival_ns=strand.begin - begin,
            memory_bytes=strand.memory_bytes,
        )
        for strand in strands
    ]
    recorded_ns = {strand.name: strand.end - strand.begin for strand in strands}
    workload = Workload(name, tuple(applications), device=simulated_twin(record))
    remarks = (*recording.remarks(), *_overlaps(strands))
    return Converted(workload, models.full_names, recorded_ns, remarks)


@dataclass(frozen=True)
class Strand:
    """The operations that become an application."""

    name: str
    operations: list[Paced]
    memory_bytes: int

    @property
    def begin(self) -> int:
        """Start of its first operation."""
        return self.operations[0].work.start

    @property
    def end(self) -> int:
        """Latest end of its operations."""
        return max(each.work.end for each in self.operations)


def _named_strands(recording: Recording, *, by_stream: bool) -> list[Strand]:
    """The strands of all processes, with unique names."""
    by_part = [list(_strands(recording, part, by_stream=by_stream)) for part in recording.parts]
    names = unique_names([[strand.name for strand in strands] for strands in by_part])
    return [
        replace(strand, name=name)
        for strands, own_names in zip(by_part, names, strict=True)
        for strand, name in zip(strands, own_names, strict=True)
    ]


def _strands(recording: Recording, part: Part, *, by_stream: bool) -> Iterator[Strand]:
    """The strands of one process. With streams as applications its memory is assigned to none of them."""
    host = HostSide(part, by_stream=by_stream)
    groups: dict[object, list[Work]] = defaultdict(list)
    for work in recording.work_of(part):
        groups[work.stream if by_stream else None].append(work)
    name = program_name(part).replace("/", "-")
    memory_bytes = 0 if by_stream else most_memory(part, recording.device)
    number = 0
    for works in groups.values():
        operations = paced(works, host)
        if operations:
            number += 1
            yield Strand(f"{name}/{number}" if by_stream else name, operations, memory_bytes)


def _operation(each: Paced, models: KernelModels, recording: Recording) -> Operation:
    if isinstance(each.work, KernelRecord):
        model = models.of(each.work)
        return Launch(model, math.prod(each.work.grid), pace=each.pace)
    direction = engine_of(each.work)
    assert direction in ("to_device", "to_host")
    time_ns = max(1, each.work.end - each.work.start)
    if time_ns > LONGEST_BLOCK_NS:
        raise recording.too_long(each.work)
    return Copy(direction, each.work.bytes, time_ns=time_ns, pace=each.pace)


def _overlaps(strands: Sequence[Strand]) -> Iterator[str]:
    for strand in strands:
        overlap = busy_until = 0
        for each in strand.operations:
            overlap += max(0, min(busy_until, each.work.end) - each.work.start)
            busy_until = max(busy_until, each.work.end)
        share = overlap / max(1, busy_until - strand.begin)
        if share > MUCH_OVERLAP:
            yield (
                f"{strand.name}: operations overlapped for {share:.0%} of its time, and a replay runs them one after "
                "the other: --by stream makes every stream a separate application"
            )
