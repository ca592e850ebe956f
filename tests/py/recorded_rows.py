# SPDX-License-Identifier: Apache-2.0
"""The rows of launches in tests/data/gpu_progress, as traces that the core can follow."""

import csv
import io
import lzma
import struct
from dataclasses import dataclass

import numpy as np
from recorded_progress import FOLDER, trace_of

import gpushare as gs
from gpushare import _core
from gpushare.model.device_file import device_from_dict, device_to_dict
from gpushare.results.predictor_accuracy import row_accuracies

FILE = FOLDER / "rows.csv.xz"
EVERY_SM = 4
"""A quarter of the SMs tell as much as all of them: every fourth one."""
ARRIVED, STARTED, ENDED, LAUNCH_ENDED = 1, 2, 3, 4
NEXT_IS_KNOWN = 1 << 8
FIELDS = ("kernel", "residency", "launch", "kind", "time_ns", "started_ns", "sm", "blocks", "next_is_known")


@dataclass(frozen=True)
class Row:
    """Launches of one kernel: events as (launch, kind, time, started, sm, blocks, next_is_known)."""

    kernel: str
    residency: int
    events: tuple[tuple[int, ...], ...]

    def accuracies(self):
        """By model, one for each launch."""
        launches = range(1 + max(event[0] for event in self.events))
        blocks = [self._blocks(launch) for launch in launches]
        predictions = _core.predictions_over_time(self._trace(), self._device(), self._workload(blocks))
        return row_accuracies(predictions, blocks, [self._runtime_ns(launch) for launch in launches])

    def _runtime_ns(self, launch):
        times = {kind: time for number, kind, time, *_ in self.events if number == launch}
        return times[LAUNCH_ENDED] - times[ARRIVED]

    def _blocks(self, launch):
        return sum(event[5] for event in self.events if event[0] == launch and event[1] == ENDED)

    def _trace(self):
        arrival = (0, 0, 0, 0, 1, 0)
        events = [
            (time, started, 0, sm, blocks, kind | (NEXT_IS_KNOWN if known else 0), launch)
            for launch, kind, time, started, sm, blocks, known in self.events
        ]
        return trace_of([arrival, *events])

    def _device(self):
        content = device_to_dict(gs.device("h100"))
        content["sms"] //= EVERY_SM
        content["per_sm"]["blocks"] = self.residency
        return device_from_dict(content)

    def _workload(self, blocks):
        model = _core.KernelModel(self.kernel, threads=32, registers_per_thread=16, latency_ns=1)
        operations = [_core.Launch(model, each) for each in blocks]
        return _core.CoreWorkload(self.kernel, [_core.Application(self.kernel, operations)])


def recorded_rows():
    """All of them, by kernel."""
    events = {}
    with lzma.open(FILE, "rt") as file:
        for row in csv.DictReader(file):
            key = row["kernel"], int(row["residency"])
            events.setdefault(key, []).append(tuple(int(row[name]) for name in FIELDS[2:]))
    return [Row(*key, tuple(each)) for key, each in events.items()]


def events_of(trace):
    """What a recorded row keeps of a trace: every fourth SM."""
    (count,) = struct.unpack_from("<q", content := trace.to_bytes(), 16)
    events = np.frombuffer(content, "<i8", 8 * count, 24).reshape(count, 8)
    kept = []
    for time, started, _, _, launch, sm, blocks, kind_and_next in events.tolist():
        kind, known = kind_and_next % NEXT_IS_KNOWN, kind_and_next // NEXT_IS_KNOWN
        if kind in (STARTED, ENDED) and sm % EVERY_SM == 0:
            kept.append((launch, kind, time, started, sm // EVERY_SM, blocks, known))
        elif kind in (ARRIVED, LAUNCH_ENDED):
            kept.append((launch, kind, time, time, 0, 1, known))
        elif not known and kept:  # what was known beside it is what is kept of the look
            kept[-1] = (*kept[-1][:-1], 0)
    return kept


def save(events):
    """By kernel and residency, what `events_of` says."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(FIELDS)
    for key, each in events.items():
        writer.writerows((*key, *event) for event in each)
    FILE.write_bytes(lzma.compress(text.getvalue().encode(), preset=9))
