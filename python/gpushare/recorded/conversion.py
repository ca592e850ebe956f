# SPDX-License-Identifier: Apache-2.0
"""From a recording to a workload that can be replayed on simulated devices."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gpushare._core import InvalidInput
from gpushare.operation import Copy, Launch, Operation
from gpushare.recorded.kernel_models import KernelModels
from gpushare.recorded.pacing import HostSide, Paced, paced
from gpushare.recorded.recorded_device import recorded_device, simulated_twin
from gpushare.recorded.recording import Recording, engine_of, program_name
from gpushare.recorded.trace_format import KernelRecord
from gpushare.recorded.trace_reader import Part, Work
from gpushare.together import unique_names
from gpushare.workload import Application, Workload

MUCH_OVERLAP = 0.02
"""The share of a process's time from which on it is worth a word that a replay has its streams one after the other."""


@dataclass(frozen=True)
class Converted:
    """A workload, and what a reader of it should know.

    Attributes:
        workload: one application per process or stream.
        full_names: of every kernel, its name as in its source.
        recorded_ns: by application, from the start of its first operation to the end of its last one.
        remarks: what the workload lacks, in sentences.
    """

    workload: Workload
    full_names: Mapping[str, str]
    recorded_ns: Mapping[str, int]
    remarks: tuple[str, ...]


def converted(recording: Recording, name: str, *, by_stream: bool = False) -> Converted:
    """The workload of this recording; time 0 is the start of its first operation.

    Args:
        recording: what was recorded.
        name: of the workload.
        by_stream: whether every stream is an application of its own, instead of every process.

    Raises:
        InvalidInput: nothing in it can be replayed.
    """
    record = recording.device_record()
    device = recorded_device(record)
    models = KernelModels(_kernels(recording), device)
    streams = [each for part in recording.parts for each in _streams(recording, part, by_stream=by_stream)]
    if not streams:
        raise InvalidInput(f"{recording.path}: it has memsets and copies within the GPU alone, which are not replayed")
    begin = min(stream[0].work.start for _, stream in streams)
    applications = []
    recorded_ns = {}
    for called, (_, stream) in zip(unique_names([called for called, _ in streams]), streams, strict=True):
        operations = tuple(_operation(each, models) for each in stream)
        first = stream[0].work.start
        applications.append(Application(called, operations, arrival_ns=first - begin))
        recorded_ns[called] = max(each.work.end for each in stream) - first
    workload = Workload(name, tuple(applications), device=simulated_twin(record))
    remarks = (*recording.remarks(), *_overlaps(streams))
    return Converted(workload, models.full_names, recorded_ns, remarks)


def _kernels(recording: Recording) -> Iterator[KernelRecord]:
    for part in recording.parts:
        yield from (work for work in recording.work_of(part) if isinstance(work, KernelRecord))


def _streams(recording: Recording, part: Part, *, by_stream: bool) -> Iterator[tuple[str, list[Paced]]]:
    """Each with the name of its application."""
    host = HostSide(part, by_stream=by_stream)
    groups: dict[object, list[Work]] = defaultdict(list)
    for work in recording.work_of(part):
        groups[work.stream if by_stream else None].append(work)
    name = program_name(part).replace("/", "-")
    number = 0
    for works in groups.values():
        operations = paced(works, host)
        if operations:
            number += 1
            yield f"{name}/{number}" if by_stream else name, operations


def _operation(each: Paced, models: KernelModels) -> Operation:
    if isinstance(each.work, KernelRecord):
        model = models.of(each.work)
        return Launch(model, math.prod(each.work.grid), pace=each.pace)
    direction = engine_of(each.work)
    assert direction in ("to_device", "to_host")
    return Copy(direction, each.work.bytes, time_ns=max(1, each.work.end - each.work.start), pace=each.pace)


def _overlaps(streams: Sequence[tuple[str, list[Paced]]]) -> Iterator[str]:
    for name, stream in streams:
        overlap = busy_until = 0
        for each in stream:
            overlap += max(0, min(busy_until, each.work.end) - each.work.start)
            busy_until = max(busy_until, each.work.end)
        share = overlap / max(1, busy_until - stream[0].work.start)
        if share > MUCH_OVERLAP:
            yield (
                f"{name}: operations overlapped for {share:.0%} of its time, and a replay has them one after the "
                "other: --by stream makes every stream an application of its own"
            )
