# SPDX-License-Identifier: Apache-2.0
"""Reads files of ``gpushare trace``: tables of jobs, quotas and counters per application."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gpushare.extras import extra
from gpushare.extras import pandas as pd
from gpushare.providers import provided

with extra("analysis"):
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SLICES = ["application", "track", "name", "begin_ns", "end_ns"]
VALUES = ["application", "track", "time_ns", "value"]
INSTANTS = ["track", "name", "time_ns"]


@dataclass(frozen=True)
class ServerTrace:
    """A trace of a server, in nanoseconds from its beginning.

    Attributes:
        slices: slices of the tracks ``running``, ``quota per SM``, ``waiting 0`` and further.
        values: counters, each valid from its time on.
        instants: the ``device``, at both ends, and each ``policy``.
    """

    slices: pd.DataFrame
    values: pd.DataFrame
    instants: pd.DataFrame

    @classmethod
    def of(cls, trace: bytes | str | Path) -> ServerTrace:
        """Reads a file, or the result of ``session.trace(seconds)``."""
        return _read(Trace.FromString(trace if isinstance(trace, bytes) else Path(trace).read_bytes()))

    @property
    def device(self) -> str:
        """Name of the device; of several, their names with commas."""
        return ", ".join(dict.fromkeys(self.instants[self.instants["track"] == "device"]["name"]))

    @property
    def applications(self) -> list[str]:
        """The applications with a running or waiting job."""
        return list(dict.fromkeys(self.slices.sort_values("begin_ns", kind="stable")["application"]))

    @property
    def end_ns(self) -> int:
        """End of the window, by default the time of the request."""
        times = [self.slices["end_ns"].max(), self.values["time_ns"].max(), self.instants["time_ns"].max()]
        return int(max(each for each in times if each == each))

    def running(self) -> pd.DataFrame:
        """Jobs from the first block to the end, or to the end of the trace."""
        return self._on("running")

    def waiting(self) -> pd.DataFrame:
        """Jobs from submission to the first block."""
        return self.slices[self.slices["track"].str.startswith("waiting")]

    def quotas(self) -> pd.DataFrame:
        """Blocks per SM, by ranges of SMs, as in ``gpushare status``."""
        return self._on("quota per SM")

    def sms_held(self) -> pd.DataFrame:
        """Numbers of SMs with blocks of an application."""
        return self.values[self.values["track"] == "SMs held"]

    def policies(self) -> pd.DataFrame:
        """The policies, each valid from its time on."""
        return self.instants[self.instants["track"] == "policy"]

    def plot(self, ax: Axes | None = None) -> Axes:
        """One lane per application: its jobs, waiting and running, and how much of the GPU it held."""
        axes: Axes = provided("server_trace_plot")(self, ax)
        return axes

    def _on(self, track: str) -> pd.DataFrame:
        return self.slices[self.slices["track"] == track]


def _read(trace: Trace) -> ServerTrace:
    """Slices of one track do not overlap, so an end belongs to the slice that began last."""
    names: dict[int, tuple[str, str]] = {}
    slices: list[list[object]] = []
    values, instants = [], []
    under_way: dict[int, list[object]] = {}
    last_ns = max((packet.timestamp for packet in trace.packet), default=0)
    for packet in trace.packet:
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            owner = names.get(track.parent_uuid, ("", ""))[0] or track.process.process_name
            names[track.uuid] = (owner, track.name)
            continue
        event = packet.track_event
        owner, name = names[event.track_uuid]
        if event.type == TrackEvent.TYPE_SLICE_BEGIN:
            slices.append([owner, name, event.name, packet.timestamp, last_ns])
            under_way[event.track_uuid] = slices[-1]
        elif event.type == TrackEvent.TYPE_SLICE_END:
            under_way.pop(event.track_uuid)[-1] = packet.timestamp
        elif event.type == TrackEvent.TYPE_COUNTER:
            values.append((owner, name, packet.timestamp, event.counter_value))
        else:
            instants.append((name, event.name, packet.timestamp))
    return ServerTrace(
        pd.DataFrame(slices, columns=SLICES),
        pd.DataFrame(values, columns=VALUES),
        pd.DataFrame(instants, columns=INSTANTS),
    )
