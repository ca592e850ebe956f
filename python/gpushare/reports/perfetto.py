# SPDX-License-Identifier: Apache-2.0
"""Traces for ui.perfetto.dev: protobuf TrackEvents, timestamps in nanoseconds from the start of the run."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from gpushare.extras import pandas as pd
from gpushare.files.atomic_write import write_atomically
from gpushare.reports.trace_packets import TracePackets, slots
from gpushare.results.kernel_states import kernel_states
from gpushare.results.residency_steps import residency_changes, steps, waiting_launches

if TYPE_CHECKING:
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TrackEvent

    from gpushare._core import Device
    from gpushare.results.run import Run

GPU_PIDS = (1, 2)
"""Of the first GPU, and before those of the others: the policy has 2, applications begin at 100."""
MOST_GROUPS = 32
"""Up to this number, each SM is a group; more SMs are combined into equal groups."""
ENGINES = {"to_device": "copies to GPU", "to_host": "copies to host"}
Annotations = dict[str, str | int]


def write_perfetto(run: Run, path: Path) -> Path:
    """Writes one run and returns the path. The same run gives the same bytes.

    Tracks: per application the operations, from arrival to end, and the states of its launches; per SM the blocks, one
    track per slot, in groups of SMs with a counter of resident blocks; the copy engines; the launches that wait; the
    policy's plans as instants. Blocks that a real GPU reported together are one slice, which says how many they are and
    lasts as long as they did on average; the counters follow the reports. A run that the hardware scheduled has
    no data on blocks: its trace has the operations of the applications and the copies only.
    """
    return write_atomically(Path(path), TraceOfRun(run).serialize())


class TraceOfRun(TracePackets):
    """A run as Perfetto packets."""

    def __init__(self, run: Run) -> None:
        super().__init__(is_ordered=True)
        self._run = run
        self._blocks = run.blocks()
        self._changes = residency_changes(run)
        if run.has_blocks:
            self._states = kernel_states(run)
        self._operations = [each for application in run.workload.applications for each in application.operations]

    @override
    def serialize(self) -> bytes:
        self._add_applications()
        for number, device in enumerate(self._run.devices):
            gpu = self._process(GPU_PIDS[number > 0] + number, f"GPU {self._gpu_words(number)}")
            if self._run.has_blocks:
                self._add_waiting(gpu, number)
            self._add_copies(gpu, number)
            if self._run.has_blocks:
                self._add_blocks(gpu, number, device)
        self._add_decisions()
        return super().serialize()

    def _gpu_words(self, number: int) -> str:
        name = self._run.devices[number].name
        return name if len(self._run.devices) == 1 else f"{number}: {name}"

    def _noted_slice(self, track: int, name: str, start_ns: int, end_ns: int, notes: Annotations) -> TrackEvent:
        event = self._slice(track, name, start_ns, end_ns)
        _annotate(event, notes)
        return event

    def _add_applications(self) -> None:
        """One process with one thread per application: its launches from arrival to end, and its copies."""
        launches, copies = self._run.launches(), self._run.copies()
        for number, application in enumerate(self._run.workload.applications):
            pid = 100 + number
            process = self._process(pid, application.name)
            thread = self._thread(process, pid, "operations")
            slices = [
                (row.arrival_ns, row.end_ns, row.kernel, {"launch": row.launch, "blocks": row.blocks}, row.launch)
                for row in launches[launches["application"] == application.name].itertuples()
            ] + [
                (row.start_ns, row.end_ns, ENGINES[row.direction], {"bytes": row.bytes}, None)
                for row in copies[copies["application"] == application.name].itertuples()
            ]
            for start, end, name, notes, launch in sorted(slices, key=lambda each: each[:2]):
                event = self._noted_slice(thread, name, start, end, notes)
                if launch is not None and self._run.has_blocks:
                    event.flow_ids.append(launch + 1)
            if self._run.has_blocks:
                self._add_states(process, application.name)

    def _add_states(self, process: int, application: str) -> None:
        """Adds the states of every launch."""
        states = self._states[(self._states["application"] == application) & (self._states["state"] != "DONE")]
        if states.empty:
            return
        track = self._track("states", process)
        for row in states.itertuples():
            self._noted_slice(track, row.state, row.begin_ns, row.end_ns, {"launch": row.operation})

    def _add_copies(self, gpu: int, number: int) -> None:
        copies = self._of(number, self._run.copies())
        for rank, (direction, words) in enumerate(ENGINES.items(), 1):
            table = copies[copies["direction"] == direction].sort_values("start_ns", kind="stable")
            if table.empty:
                continue
            track = self._track(words, gpu, rank)
            for row in table.itertuples():
                self._noted_slice(track, row.application, row.start_ns, row.end_ns, {"bytes": row.bytes})

    @staticmethod
    def _of(number: int, table: pd.DataFrame) -> pd.DataFrame:
        return table[table["device"] == number]

    def _add_waiting(self, gpu: int, number: int) -> None:
        times, depths = waiting_launches(self._of(number, self._run.launches()), self._of(number, self._changes))
        self._counter(self._track("waiting launches", gpu, 0, unit="launches"), zip(times, depths, strict=True))

    def _add_blocks(self, gpu: int, number: int, device: Device) -> None:
        all_blocks, all_changes = self._of(number, self._blocks), self._of(number, self._changes)
        first_blocks = set(all_blocks.groupby("launch")["start_ns"].idxmin())
        for rank, group in enumerate(sm_groups(device.sms), 3):
            blocks = all_blocks[all_blocks["sm"].isin(group)]
            name = f"SM {group[0]}" if len(group) == 1 else f"SMs {group[0]}-{group[-1]}"
            changes = all_changes[all_changes["sm"].isin(group)]
            times, resident = steps(changes["time_ns"], changes["change"])
            counter = self._track(f"{name} resident blocks", gpu, 2 * rank, unit="blocks")
            self._counter(counter, zip(times, resident, strict=True))
            parent = self._track(name, gpu, 2 * rank + 1)
            for sm in group:
                self._add_sm(parent, sm, blocks[blocks["sm"] == sm], first_blocks)

    def _add_sm(self, parent: int, sm: int, blocks: pd.DataFrame, first_blocks: set[int]) -> None:
        """One track per slot, because slices on one track must not overlap."""
        blocks = blocks.sort_values(["start_ns", "end_ns", "launch", "block"], kind="stable")
        tracks: list[int] = []
        for row, slot in zip(blocks.itertuples(), slots(blocks["start_ns"], blocks["end_ns"]), strict=True):
            if slot == len(tracks):
                tracks.append(self._track(f"SM {sm} slot {slot}", parent, 64 * sm + slot))
            name = f"{row.application}: {row.kernel}" + (f" ({row.blocks} blocks)" if row.blocks > 1 else "")
            notes: Annotations = {"block": row.block, "blocks": row.blocks}
            event = self._noted_slice(tracks[slot], name, row.start_ns, row.end_ns, notes)
            if row.Index in first_blocks:
                event.terminating_flow_ids.append(row.launch + 1)

    def _add_decisions(self) -> None:
        track = self._track("plans", self._process(2, f"policy {self._run.policy}"))
        decisions = self._run.decisions()
        rows = zip(decisions["time_ns"], decisions["rank"], decisions["launch"], decisions["application"],
                   decisions["quota"], strict=True)  # fmt: skip
        plans: list[list[tuple[Any, ...]]] = []
        for row in rows:
            if row[1] == 0:
                plans.append([])
            plans[-1].append(row)
        for plan in plans:
            event = self._instant(track, plan[0][0], " > ".join(application for _, _, _, application, _ in plan))
            _annotate(event, {
                f"rank {rank}": f"{application}: {self._operations[launch].kernel.name}, {quota_words(quota)}"
                for _, rank, launch, application, quota in plan
            })  # fmt: skip


def _annotate(event: TrackEvent, notes: Annotations) -> None:
    for name, value in notes.items():
        note = event.debug_annotations.add()
        note.name = name
        if isinstance(value, str):
            note.string_value = value
        else:
            note.int_value = int(value)


def sm_groups(sms: int) -> list[range]:
    """The SMs in at most 32 groups of neighbours.

    >>> sm_groups(132)[:2], len(sm_groups(132)), len(sm_groups(15))
    ([range(0, 5), range(5, 10)], 27, 15)
    """
    size = -(-sms // MOST_GROUPS)
    return [range(first, min(first + size, sms)) for first in range(0, sms, size)]


def quota_words(quota: int | Sequence[int]) -> str:
    """The text of a quota, with SMs of equal value combined.

    >>> quota_words(6), quota_words([6, 0, 0])
    ('6 blocks on every SM', 'SM 0: 6, SMs 1-2: 0')
    """
    if isinstance(quota, int):
        return f"{quota} blocks on every SM"
    words = []
    first = 0
    for value, same in groupby(quota):
        last = first + len(list(same)) - 1
        words.append(f"SM {first}: {value}" if first == last else f"SMs {first}-{last}: {value}")
        first = last + 1
    return ", ".join(words)
