# SPDX-License-Identifier: Apache-2.0
"""The packets of a trace file for ui.perfetto.dev: tracks, and the events on them."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from itertools import count

from gpushare.extras import extra

with extra("analysis"):
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TracePacket, TrackDescriptor, TrackEvent
    from perfetto.trace_builder.proto_builder import TraceProtoBuilder

SEQUENCE = 1


class TracePackets:
    """Collects packets.

    Args:
        since_ns: start of the trace; earlier times become it.
        is_ordered: whether tracks are shown in the order of their ranks; else the viewer sorts them.
        part: another number for each of several traces that are written one after the other to one file.
    """

    def __init__(self, *, since_ns: int = 0, is_ordered: bool = False, part: int = 0) -> None:
        self._since_ns = since_ns
        self._is_ordered = is_ordered
        self._uuids = count(1 + (part << 32))
        self._sequence = SEQUENCE + part
        self._tracks: list[TracePacket] = []
        self._events: list[TracePacket] = []

    def serialize(self) -> bytes:
        """The file's bytes; equal packets give equal bytes."""
        builder = TraceProtoBuilder()
        self._events.sort(key=lambda packet: packet.timestamp)  # stable: on a track an end comes before the next begin
        builder.trace.packet.extend(self._tracks)
        builder.trace.packet.extend(self._events)
        if builder.trace.packet:
            builder.trace.packet[0].sequence_flags = TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
        return builder.trace.SerializeToString(deterministic=True)

    def _process(self, pid: int, name: str) -> int:
        track = self._new_track()
        track.process.pid, track.process.process_name = pid, name
        if self._is_ordered:
            track.child_ordering = TrackDescriptor.ChildTracksOrdering.EXPLICIT
        return track.uuid

    def _thread(self, parent: int, pid: int, name: str) -> int:
        track = self._new_track()
        track.parent_uuid = parent
        track.thread.pid, track.thread.tid, track.thread.thread_name = pid, pid, name
        return track.uuid

    def _track(self, name: str, parent: int, rank: int = 0, unit: str | None = None) -> int:
        track = self._new_track()
        track.name, track.parent_uuid = name, parent
        if self._is_ordered:
            track.sibling_order_rank = rank
            track.child_ordering = TrackDescriptor.ChildTracksOrdering.EXPLICIT
        if unit is not None:
            track.counter.unit_name = unit
        return track.uuid

    def _new_track(self) -> TrackDescriptor:
        packet = TracePacket(trusted_packet_sequence_id=self._sequence)
        packet.track_descriptor.uuid = next(self._uuids)
        self._tracks.append(packet)
        return packet.track_descriptor

    def _event(self, track: int, time_ns: int, kind: TrackEvent.Type, name: str | None = None) -> TrackEvent:
        since_start = max(int(time_ns) - self._since_ns, 0)
        packet = TracePacket(timestamp=since_start, trusted_packet_sequence_id=self._sequence)
        event = packet.track_event
        event.type, event.track_uuid = kind, track
        if name is not None:
            event.name = name
        self._events.append(packet)
        return event

    def _instant(self, track: int, time_ns: int, name: str) -> TrackEvent:
        return self._event(track, time_ns, TrackEvent.TYPE_INSTANT, name)

    def _slice(self, track: int, name: str, begin_ns: int, end_ns: int | None) -> TrackEvent:
        """Adds a slice and returns its begin event; one without an end lasts until the end of the trace."""
        event = self._event(track, begin_ns, TrackEvent.TYPE_SLICE_BEGIN, name)
        if end_ns is not None:
            self._event(track, end_ns, TrackEvent.TYPE_SLICE_END)
        return event

    def _counter(self, track: int, values: Iterable[tuple[int, int]]) -> None:
        """Adds a counter's values, each valid from its time on."""
        for time_ns, value in values:
            self._event(track, time_ns, TrackEvent.TYPE_COUNTER).counter_value = int(value)


def slots(starts_ns: Sequence[int], ends_ns: Sequence[int]) -> list[int]:
    """For intervals sorted by start: the lowest slot that is free, so that none overlap in a slot.

    >>> slots([0, 0, 5], [5, 9, 7])
    [0, 1, 0]
    """
    free: list[int] = []
    busy: list[tuple[int, int]] = []  # (end, slot)
    taken = []
    for start, end in zip(starts_ns, ends_ns, strict=True):
        while busy and busy[0][0] <= start:
            heapq.heappush(free, heapq.heappop(busy)[1])
        slot = heapq.heappop(free) if free else len(busy)
        heapq.heappush(busy, (end, slot))
        taken.append(slot)
    return taken
