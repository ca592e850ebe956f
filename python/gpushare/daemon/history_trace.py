# SPDX-License-Identifier: Apache-2.0
"""A worker's history for ui.perfetto.dev: jobs per application, queues, blocks, memory, and changes of the policy."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count, groupby

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TracePacket, TrackEvent
from perfetto.trace_builder.proto_builder import TraceProtoBuilder

from gpushare._core import JobStatus, PastJob
from gpushare.daemon.history import Look
from gpushare.perfetto import SEQUENCE, slots


def history_trace(jobs: list[PastJob], looks: list[Look], since_ns: int) -> bytes:
    """The file. Times count from ``since_ns``; what began before is drawn from there."""
    trace = HistoryTrace(since_ns)
    trace.add_memory(looks)
    trace.add_policies(looks)
    names = {each.application for each in jobs} | {name for each in looks for name in each.unfinished}
    for name in sorted(names):
        trace.add_application(name, [each for each in jobs if each.application == name], looks)
    return trace.serialize()


class HistoryTrace:
    """Packets."""

    def __init__(self, since_ns: int) -> None:
        self._since_ns = since_ns
        self._uuids = count(1)
        self._tracks: list[TracePacket] = []
        self._events: list[TracePacket] = []
        self._server = self._process("server", 1)

    def add_memory(self, looks: list[Look]) -> None:
        """What clients held."""
        self._counter(self._server, "memory", "bytes", ((each.time_ns, each.used_bytes) for each in looks))

    def add_policies(self, looks: list[Look]) -> None:
        """An instant for the first, and for each that replaced another."""
        track = self._track("policy", self._server)
        for name, same in groupby(looks, key=lambda each: each.policy):
            self._event(track, next(same).time_ns, TrackEvent.TYPE_INSTANT).name = name

    def add_application(self, name: str, jobs: list[PastJob], looks: list[Look]) -> None:
        """Jobs from submission to end, on as many tracks as overlap; how many waited; how far the present one was."""
        process = self._process(name, 100 + len(self._tracks))
        jobs = sorted(jobs, key=lambda each: (each.submitted_ns, each.ended_ns))
        places = slots([each.submitted_ns for each in jobs], [each.ended_ns for each in jobs])
        tracks = [self._track(f"jobs {place}", process) for place in range(max(places, default=-1) + 1)]
        for job, place in zip(jobs, places, strict=True):
            words = job.kernel if job.status == JobStatus.DONE else f"{job.kernel}: {job.status.name.lower()}"
            self._event(tracks[place], job.submitted_ns, TrackEvent.TYPE_SLICE_BEGIN).name = words
            self._event(tracks[place], job.ended_ns, TrackEvent.TYPE_SLICE_END)
        for what, unit in (("unfinished", "jobs"), ("blocks_done", "blocks")):
            values = ((each.time_ns, getattr(each, what).get(name)) for each in looks)
            known = [(time_ns, value) for time_ns, value in values if value is not None]
            self._counter(process, what.replace("_", " "), unit, known)

    def serialize(self) -> bytes:
        """The file."""
        builder = TraceProtoBuilder()
        self._events.sort(key=lambda packet: packet.timestamp)  # stable: on a track an end comes before the next begin
        builder.trace.packet.extend(self._tracks)
        builder.trace.packet.extend(self._events)
        builder.trace.packet[0].sequence_flags = TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
        return builder.trace.SerializeToString(deterministic=True)

    def _process(self, name: str, pid: int) -> int:
        packet = TracePacket(trusted_packet_sequence_id=SEQUENCE)
        track = packet.track_descriptor
        track.uuid, track.process.pid, track.process.process_name = next(self._uuids), pid, name
        self._tracks.append(packet)
        return track.uuid

    def _track(self, name: str, parent: int, unit: str | None = None) -> int:
        packet = TracePacket(trusted_packet_sequence_id=SEQUENCE)
        track = packet.track_descriptor
        track.uuid, track.name, track.parent_uuid = next(self._uuids), name, parent
        if unit is not None:
            track.counter.unit_name = unit
        self._tracks.append(packet)
        return track.uuid

    def _counter(self, parent: int, name: str, unit: str, values: Iterable[tuple[int, int]]) -> None:
        track = self._track(name, parent, unit)
        for time_ns, value in values:
            self._event(track, time_ns, TrackEvent.TYPE_COUNTER).counter_value = value

    def _event(self, track: int, time_ns: int, kind: TrackEvent.Type) -> TrackEvent:
        packet = TracePacket(timestamp=max(time_ns - self._since_ns, 0), trusted_packet_sequence_id=SEQUENCE)
        packet.track_event.type, packet.track_event.track_uuid = kind, track
        self._events.append(packet)
        return packet.track_event
