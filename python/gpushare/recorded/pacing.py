# SPDX-License-Identifier: Apache-2.0
"""Derives the pace of every operation from times on the GPU and its host, for replays that share the GPU."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from gpushare.model.host_pace import AT_ONCE, HostPace
from gpushare.recorded.recording import engine_of
from gpushare.recorded.trace_format import CopyRecord, KernelRecord, What
from gpushare.recorded.trace_reader import Part, Work

USUAL_LATENCY_NS = 5_000
"""Time from a call to its work on an idle GPU, for recordings without such a case; measured for launches on an H100."""

SHORTEST_WAIT_NS = 20_000
"""Shorter calls may end together with an operation by chance: calls that do not wait take a few microseconds."""


@dataclass(frozen=True)
class Paced:
    """An operation of an application, and its pace."""

    work: Work
    pace: HostPace


@dataclass(frozen=True, order=True)
class Wait:
    """A wait of the host; ``stream`` is the only stream that it waited for, where that is known."""

    start: int
    end: int
    stream: int | None = None


class HostSide:
    """The host's side of a process: when operations are issued.

    Args:
        part: a part of the recording.
        by_stream: whether streams are separate applications, so that waiting for another one counts as work.
    """

    def __init__(self, part: Part, *, by_stream: bool) -> None:
        self._by_stream = by_stream
        self._calls = _spans(part)
        self._waits = sorted(self._waits_of(part), key=lambda wait: (wait.start, wait.end))
        self._wait_starts = [wait.start for wait in self._waits]
        self._latency_ns = {is_kernel: self._latency(part.work, is_kernel) for is_kernel in (True, False)}

    def issued(self, work: Work) -> int | None:
        """Time of the call; None where it is not recorded."""
        span = self._calls.get(work.correlation)
        return None if span is None else span[0]

    def reaches_gpu(self, work: Work) -> int:
        """Time at which the call would have had its effect on an idle GPU.

        If the call is not recorded, the start of the work.
        """
        issued = self.issued(work)
        if issued is None:
            return work.start
        return min(work.start, issued + self._latency_ns[isinstance(work, KernelRecord)])

    def wait_between(self, earlier: Work, later: Work) -> int | None:
        """Time at which the host began to wait for the earlier operation, before it issued the later one.

        None: it did not wait.
        """
        first, last = self.issued(earlier), self.issued(later)
        if first is None or last is None:
            return None
        if self._is_blocking(earlier):
            return first
        waits = self._waits[bisect_left(self._wait_starts, first) : bisect_right(self._wait_starts, last)]
        found = [wait.start for wait in waits if wait.end <= last and self._concerns(wait, earlier)]
        return found[-1] if found else None

    def _concerns(self, wait: Wait, work: Work) -> bool:
        return not self._by_stream or wait.stream in (None, work.stream.stream)

    def _is_blocking(self, work: Work) -> bool:
        """Whether the host waited for a copy that ended during its call, unless a short call returned late."""
        span = self._calls.get(work.correlation)
        if not isinstance(work, CopyRecord) or span is None or span[1] < work.end:
            return False
        return not work.is_asynchronous or work.is_pageable or span[1] - span[0] >= SHORTEST_WAIT_NS

    def _waits_of(self, part: Part) -> Iterable[Wait]:
        for wait in part.waits:
            if wait.what != What.STREAM_BY_STREAM:
                yield Wait(wait.start, wait.end, wait.stream if wait.what == What.STREAM else None)
        # Calls that put no work on the GPU and lasted until an operation ended, such as freeing memory.
        issuing = {work.correlation for work in part.work} | {wait.correlation for wait in part.waits}
        ends = sorted(work.end for work in part.work)
        for correlation, (start, end) in self._calls.items():
            is_long = correlation not in issuing and end - start >= SHORTEST_WAIT_NS
            if is_long and bisect_left(ends, start) < bisect_right(ends, end):
                yield Wait(start, end)

    def _latency(self, works: Sequence[Work], of_kernels: bool) -> int:
        """The latency of calls to an idle stream."""
        found = []
        busy_until: dict[object, int] = defaultdict(int)
        for work in works:
            issued = self.issued(work)
            is_of_kind = isinstance(work, KernelRecord) == of_kernels
            if issued is not None and is_of_kind and busy_until[work.stream] <= issued <= work.start:  # it was idle
                found.append(work.start - issued)
            busy_until[work.stream] = max(busy_until[work.stream], work.end)
        return round(median(found)) if found else USUAL_LATENCY_NS


def _spans(part: Part) -> dict[int, tuple[int, int]]:
    """By correlation, from the first start to the last end: a runtime call includes its driver call."""
    spans: dict[int, tuple[int, int]] = {}
    for call in part.calls:
        start, end = spans.get(call.correlation, (call.start, call.end))
        spans[call.correlation] = (min(start, call.start), max(end, call.end))
    return spans


def paced(works: Sequence[Work], host: HostSide) -> list[Paced]:
    """The operations of one application, which a replay runs one after the other, each with its pace.

    A replay of the application alone starts every operation at its recorded time; of operations that overlapped, the
    later one starts when the earlier one has ended. Operations that occupy no engine (memsets, copies within the GPU)
    count as pauses.
    """
    found: list[Paced] = []
    busy_until = reached = 0
    for work in works:
        if engine_of(work) is None:
            continue
        if not found:
            found.append(Paced(work, AT_ONCE))
            reached = work.start
        else:
            pace, reached = _pace(found[-1].work, work, busy_until, reached, host)
            found.append(Paced(work, pace))
        busy_until = max(busy_until, work.end)
    return found


def _pace(earlier: Work, work: Work, busy_until: int, reached: int, host: HostSide) -> tuple[HostPace, int]:
    """The pace of an operation, and the time at which its call reached the GPU."""
    pause = max(0, work.start - busy_until)
    waited = host.wait_between(earlier, work)
    if waited is not None:
        begin = max(waited, reached)
        after = max(0, work.start - max(begin, busy_until))
        return HostPace(host_ns=begin - reached, after_ns=after), max(work.start, busy_until)
    arrived = host.reaches_gpu(work)
    if arrived > busy_until:  # the GPU was idle until the host's call arrived
        return HostPace(host_ns=max(0, work.start - reached)), max(reached, work.start)
    arrived = max(arrived, reached)
    return HostPace(host_ns=arrived - reached, gap_ns=pause), arrived
