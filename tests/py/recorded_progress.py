# SPDX-License-Identifier: Apache-2.0
"""The runs in tests/data/gpu_progress, as traces that the core can follow."""

import csv
import lzma
import pathlib
import struct
from dataclasses import dataclass
from statistics import median

import gpushare as gs
from gpushare import _core
from gpushare.model.device_file import device_from_dict, device_to_dict
from gpushare.results.predictor_accuracy import accuracies

FOLDER = pathlib.Path(__file__).parents[1] / "data" / "gpu_progress"
USUAL_BEGIN_NS = 40_000
"""Of a launch's first blocks, after its arrival: the median of those whose blocks last less than 20 us is 38 us."""
APPLICATION_ARRIVED, LAUNCH_ARRIVED, BLOCK_STARTED, BLOCK_ENDED, LAUNCH_ENDED = range(5)


@dataclass(frozen=True)
class Report:
    """Blocks that one look found ended on one SM."""

    time_ns: int
    sm: int
    blocks: int
    mean_ns: int

    @property
    def elapsed_ns(self):
        return self.blocks * self.mean_ns


@dataclass(frozen=True)
class RecordedLaunch:
    kernel: str
    blocks: int
    residency: int
    runtime_ns: int
    reports: tuple[Report, ...]

    def device(self):
        """An H100 whose SMs hold so many blocks of any kernel."""
        content = device_to_dict(gs.device("h100"))
        content["per_sm"]["blocks"] = self.residency
        return device_from_dict(content)

    def workload(self):
        model = _core.KernelModel(self.kernel, threads=32, registers_per_thread=16, latency_ns=1)
        return _core.CoreWorkload(self.kernel, [_core.Application(self.kernel, [_core.Launch(model, self.blocks)])])

    def trace(self):
        events = [*self._starts(), *self._ends()]
        events.sort(key=lambda event: (event[0], event[-1]))  # of one moment, starts come first
        arrivals = [(0, 0, 0, 0, 1, APPLICATION_ARRIVED), (0, 0, 0, 0, 1, LAUNCH_ARRIVED)]
        return trace_of([*arrivals, *events, (self.runtime_ns, 0, 0, 0, 1, LAUNCH_ENDED)])

    def predictions(self):
        """What `_core.predictions_over_time` says."""
        return _core.predictions_over_time(self.trace(), self.device(), self.workload())

    def _ends(self):
        return [
            (each.time_ns, each.time_ns - each.mean_ns, 0, each.sm, each.blocks, BLOCK_ENDED) for each in self.reports
        ]

    def _starts(self):
        begin = self._begin_ns()
        for sm in sorted({each.sm for each in self.reports}):
            mine = [each for each in self.reports if each.sm == sm]
            left = sum(each.blocks for each in mine)
            before, resident = begin, min(self.residency, left)
            yield begin, begin, 0, sm, resident, BLOCK_STARTED
            for report in mine:
                left -= report.blocks
                started = min(self.residency, left) - (resident - report.blocks)
                if started > 0:
                    at = max(before, report.time_ns - report.elapsed_ns // min(self.residency, report.blocks))
                    yield at, at, 0, sm, started, BLOCK_STARTED
                before, resident = report.time_ns, min(self.residency, left)

    def _begin_ns(self):
        """As launches usually begin, as far as the blocks of this one allow that."""
        first = [each for each in self.reports if each.time_ns == self.reports[0].time_ns]
        latest = median(each.time_ns - each.elapsed_ns // min(self.residency, each.blocks) for each in first)
        # All places may have held another block each, for as long, that has not been reported.
        earliest = latest - sum(each.elapsed_ns for each in first) / sum(each.blocks for each in first)
        return int(min(self._longest_blocks_begin_ns(), latest, max(earliest, USUAL_BEGIN_NS)))

    def _longest_blocks_begin_ns(self):
        """Of those that ended on each SM, in the median: there was none of the launch's before."""
        begins = {}
        for each in self.reports:
            begins[each.sm] = min(begins.get(each.sm, each.time_ns), each.time_ns - each.mean_ns)
        return median(begins.values())


def trace_of(events):
    """Rows (time, started, block, sm, blocks, kind[, launch]) in the trace format; all of one application."""
    content = bytearray(b"gpushare-trace-5" + struct.pack("<q", len(events)))
    for time, started, block, sm, blocks, kind, *launch in events:
        content += struct.pack("<8q", time, started, block, 0, *(launch or [0]), sm, blocks, kind)
    content = bytes(content)
    return _core.Trace.from_bytes(content + struct.pack("<q", 0))


def recorded_launches():
    """All of them, by kernel."""
    reports = {}
    with lzma.open(FOLDER / "reports.csv.xz", "rt") as file:
        for row in csv.DictReader(file):
            numbers = (int(row[name]) for name in ("time_ns", "sm", "blocks", "mean_duration_ns"))
            reports.setdefault(row["kernel"], []).append(Report(*numbers))
    with open(FOLDER / "launches.csv") as file:
        return [
            RecordedLaunch(
                row["kernel"],
                *(int(row[name]) for name in ("blocks", "residency", "runtime_ns")),
                tuple(reports[row["kernel"]]),
            )
            for row in csv.DictReader(file)
        ]


def recorded_accuracies(*, early=False):
    """By kernel and model."""
    return {
        launch.kernel: accuracies(launch.predictions(), launch.blocks, launch.runtime_ns, early=early)
        for launch in recorded_launches()
    }
