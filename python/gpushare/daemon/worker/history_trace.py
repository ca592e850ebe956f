# SPDX-License-Identifier: Apache-2.0
"""Traces of a worker for ui.perfetto.dev: per application jobs, waiting and running, quotas and SMs."""

from __future__ import annotations

from itertools import groupby

from gpushare.daemon.worker.history import Look, Past, PastHold, PastJob, PastQuota
from gpushare.reports.trace_packets import TracePackets, slots

MOST_WAITING = 16
"""Tracks of waiting jobs; further ones are counted, but not drawn."""
COPY = "copy"
"""Name of a slice that runs no kernel."""


def history_trace(device: str, past: Past, looks: list[Look], window_ns: tuple[int, int], part: int = 0) -> bytes:
    """The trace file. Times count from the begin of the window; slices are cut at its ends.

    Args:
        device: name of the device.
        past: of its session.
        looks: snapshots of the worker.
        window_ns: begin and end.
        part: of a trace of several devices, counted from 1, which are written one after the other.
    """
    trace = HistoryTrace(device, *window_ns, part)
    trace.add_memory(looks)
    trace.add_policies(looks)
    everything: list[PastJob | PastQuota | PastHold] = [*past.jobs, *past.quotas, *past.holds]
    for name in sorted(
        {each.application for each in everything} | {name for each in looks for name in each.unfinished}
    ):
        process = trace.add_application(name)
        jobs = [each for each in past.jobs if each.application == name]
        trace.add_running(process, jobs)
        trace.add_waiting(process, jobs)
        trace.add_quotas(process, [each for each in past.quotas if each.application == name])
        trace.add_holds(process, [each for each in past.holds if each.application == name])
        trace.add_looks(process, name, looks)
    return trace.serialize()


class HistoryTrace(TracePackets):
    """The packets of a trace."""

    def __init__(self, device: str, since_ns: int, until_ns: int, part: int) -> None:
        super().__init__(since_ns=since_ns, part=part)
        self._first_pid = part << 20
        self._of_device = f" on {device}" if part else ""
        self._server = self._process(self._first_pid + 1, f"server{self._of_device}")
        track = self._track("device", self._server)
        for time_ns in (since_ns, until_ns):  # a reader takes the last event for the end
            self._instant(track, time_ns, device)

    def add_memory(self, looks: list[Look]) -> None:
        """Adds the device memory of clients."""
        self._counter(
            self._track("memory", self._server, unit="bytes"), ((each.time_ns, each.used_bytes) for each in looks)
        )

    def add_policies(self, looks: list[Look]) -> None:
        """Adds an instant for the first policy and for each change."""
        track = self._track("policy", self._server)
        for name, same in groupby(looks, key=lambda each: each.policy):
            self._instant(track, next(same).time_ns, name)

    def add_application(self, name: str) -> int:
        """Adds an application's track, which groups its other tracks."""
        return self._process(self._first_pid + 100 + len(self._tracks), name + self._of_device)

    def add_running(self, process: int, jobs: list[PastJob]) -> None:
        """Adds running jobs, from the first block to the end: one at a time."""
        track = self._track("running", process)
        for job in jobs:
            if job.began_ns is not None:
                words = f"{job.kernel or COPY}: cancelled" if job.is_cancelled else job.kernel or COPY
                self._slice(track, words, job.began_ns, job.end_ns)

    def add_waiting(self, process: int, jobs: list[PastJob]) -> None:
        """Adds waiting jobs, from submission to the first block, on as many tracks as overlap."""
        jobs = sorted(jobs, key=lambda each: each.submitted_ns)
        ends = [_start_or_end(each) for each in jobs]
        places = slots([each.submitted_ns for each in jobs], [end or 2**63 for end in ends])
        tracks = [self._track(f"waiting {place}", process) for place in range(min(max(places, default=-1) + 1,
                                                                                  MOST_WAITING))]  # fmt: skip
        for job, end, place in zip(jobs, ends, places, strict=True):
            if place < MOST_WAITING:
                self._slice(tracks[place], job.kernel or COPY, job.submitted_ns, end)

    def add_quotas(self, process: int, quotas: list[PastQuota]) -> None:
        """Adds quotas: blocks per SM as slices, and the sum over SMs as a counter."""
        track = self._track("quota per SM", process)
        steps: dict[int, int] = {}
        for each in quotas:
            self._slice(track, each.quota, each.begin_ns, each.end_ns)
            steps[each.begin_ns] = each.blocks
            steps[each.end_ns] = 0
        self._counter(self._track("quota of blocks", process, unit="blocks"), steps.items())

    def add_holds(self, process: int, holds: list[PastHold]) -> None:
        """Adds numbers of SMs with at least one block of the application."""
        self._counter(self._track("SMs held", process, unit="SMs"), ((each.time_ns, each.sms) for each in holds))

    def add_looks(self, process: int, name: str, looks: list[Look]) -> None:
        """Adds the numbers of jobs, and the progress of the present launch."""
        for what, unit in (("unfinished", "jobs"), ("blocks_done", "blocks")):
            values = ((each.time_ns, getattr(each, what).get(name)) for each in looks)
            known = [(time_ns, value) for time_ns, value in values if value is not None]
            self._counter(self._track(what.replace("_", " "), process, unit=unit), known)


def _start_or_end(job: PastJob) -> int | None:
    return job.end_ns if job.began_ns is None else job.began_ns
