# SPDX-License-Identifier: Apache-2.0
"""Summary of a recording: times of kernels and copies, and idle times of the GPU's engines."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from gpushare.recorded.kernel_models import short_name
from gpushare.recorded.recording import Recording, engine_of, program_name
from gpushare.recorded.trace_format import CopyRecord, KernelRecord
from gpushare.recorded.trace_reader import Work

ENGINES = {"kernel": "SMs", "to_device": "copies to the device", "to_host": "copies to the host"}


@dataclass(frozen=True)
class EngineUse:
    """Busy time of an engine, and the part of it in which the other two were idle."""

    engine: str
    busy_ns: int
    alone_ns: int
    idle_ns: int


@dataclass(frozen=True)
class WorkUse:
    """Launches of one kernel, or copies of one direction, by one program."""

    program: str
    what: str
    count: int
    total_ns: int
    bytes: int
    blocks: int


@dataclass(frozen=True)
class Summary:
    """The summary; ``length_ns`` is from the first operation's start to the last one's end."""

    length_ns: int
    engines: tuple[EngineUse, ...]
    works: tuple[WorkUse, ...]


def summary_of(recording: Recording) -> Summary:
    """Summarises a recording."""
    works = [work for part in recording.parts for work in recording.work_of(part)]
    length_ns = max(work.end for work in works) - min(work.start for work in works)
    busy = {engine: _merged(work for work in works if engine_of(work) == engine) for engine in ENGINES}
    engines = []
    for engine, spans in busy.items():
        busy_ns = _length(spans)
        others = [span for other, those in busy.items() if other != engine for span in those]
        alone_ns = _length(_union([*spans, *others])) - _length(_union(others))
        engines.append(EngineUse(engine, busy_ns, alone_ns, length_ns - busy_ns))
    return Summary(length_ns, tuple(engines), tuple(_uses(recording)))


def _uses(recording: Recording) -> Iterable[WorkUse]:
    found = []
    for part in recording.parts:
        groups: dict[str, list[Work]] = defaultdict(list)
        for work in recording.work_of(part):
            groups[_called(work)].append(work)
        for what, works in groups.items():
            total_ns = sum(work.end - work.start for work in works)
            size = sum(0 if isinstance(work, KernelRecord) else work.bytes for work in works)
            blocks = sum(_blocks(work) for work in works)
            found.append(WorkUse(program_name(part), what, len(works), total_ns, size, blocks))
    return sorted(found, key=lambda use: (-use.total_ns, use.program, use.what))


def _called(work: Work) -> str:
    if isinstance(work, KernelRecord):
        return short_name(work.name)
    if not isinstance(work, CopyRecord):
        return "(memset)"
    engine = engine_of(work)
    memory = ", pageable" if work.is_pageable else ""
    return f"({ENGINES[engine]}{memory})" if engine else "(copy within the GPU)"


def _blocks(work: Work) -> int:
    return work.grid[0] * work.grid[1] * work.grid[2] if isinstance(work, KernelRecord) else 0


Span = tuple[int, int]


def _merged(works: Iterable[Work]) -> list[Span]:
    return _union([(work.start, work.end) for work in works])


def _union(spans: list[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _length(spans: list[Span]) -> int:
    return sum(end - start for start, end in spans)
