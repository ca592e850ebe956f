# SPDX-License-Identifier: Apache-2.0
"""Numbers of resident blocks as step functions per SM and kernel, for timelines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpushare.model.workload import Launch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpushare.results.run import Run


@dataclass(frozen=True)
class Series:
    """Blocks of one kernel of one application.

    Attributes:
        application: its index in the workload.
        kernel: name.
        max_residency: blocks of it that fill an SM.
    """

    application: int
    kernel: str
    max_residency: int


@dataclass(frozen=True)
class Residency:
    """Resident blocks per SM and series as step functions, ordered by SM, then time.

    Attributes:
        series: the series that are counted.
        sm: per step, the SM. A step is a change: a block that directly follows another one makes none.
        time_ns: per step, its time in nanoseconds.
        blocks: per step and series, the resident blocks after it.
        starts: the steps of SM ``i`` are ``starts[i] : starts[i + 1]``.
    """

    series: list[Series]
    sm: NDArray[np.int64]
    time_ns: NDArray[np.int64]
    blocks: NDArray[np.int32]
    starts: NDArray[np.int64]

    def lane(self, sm: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """The steps of one SM: times (ns), and blocks per step and series."""
        part = slice(self.starts[sm], self.starts[sm + 1])
        return self.time_ns[part], self.blocks[part]

    def occupied(self, blocks: NDArray[np.int32], applications: int) -> NDArray[np.float64]:
        """Per step and application, the share of an SM that its blocks fill: one block fills 1 / max_residency.

        A launch that ran as the original kernel may report more blocks than fit: it fills the SM.
        """
        weights = np.zeros((len(self.series), applications))
        for number, series in enumerate(self.series):
            weights[number, series.application] = 1 / series.max_residency
        return np.minimum(blocks, [series.max_residency for series in self.series]) @ weights


def residency(run: Run) -> Residency:
    """The resident blocks of a run."""
    columns = run.trace.residency_changes()
    series, series_of_operation = _series(run)
    sm, time = columns["sm"], columns["time_ns"]
    count = len(sm)
    order = np.lexsort((time, sm))
    deltas = np.zeros((count, len(series)), dtype=np.int32)
    deltas[np.arange(count), series_of_operation[columns["operation"]]] = columns["change"]
    # Every block ends, so the sum is 0 again at the next SM's start.
    blocks = np.cumsum(deltas[order], axis=0, dtype=np.int32)
    sm, time = sm[order], time[order]
    last = np.ones(count, dtype=bool)
    last[:-1] = (np.diff(time) != 0) | (np.diff(sm) != 0)
    sm, time, blocks = sm[last], time[last], blocks[last]
    changed = np.any(np.diff(blocks, axis=0, prepend=0) != 0, axis=1)
    sm, time, blocks = sm[changed], time[changed], blocks[changed]
    return Residency(series, sm, time, blocks, np.searchsorted(sm, np.arange(run.sms + 1)))


def _series(run: Run) -> tuple[list[Series], NDArray[np.int64]]:
    """The series, and per operation the index of its series (0 for copies, which have no blocks)."""
    found: dict[tuple[int, str], int] = {}
    series: list[Series] = []
    of_operation: list[int] = []
    for number, application in enumerate(run.workload.applications):
        for operation in application.operations:
            if not isinstance(operation, Launch):
                of_operation.append(0)
                continue
            key = (number, operation.kernel.name)
            if key not in found:
                found[key] = len(series)
                fitting = max(1, run.max_residency[len(of_operation)])
                series.append(Series(number, operation.kernel.name, fitting))
            of_operation.append(found[key])
    return series, np.array(of_operation, dtype=np.int64)


def binned(
    times_ns: NDArray[np.int64], values: NDArray[np.float64], edges_ns: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The mean of a step function between the edges: one row per bin, one column per column of ``values``."""
    widths = np.diff(edges_ns)
    if len(times_ns) == 0:
        return np.zeros((len(widths), values.shape[1]))
    areas = np.vstack([np.zeros((1, values.shape[1])), np.cumsum(values[:-1] * np.diff(times_ns)[:, None], axis=0)])
    at_edges = np.column_stack([np.interp(edges_ns, times_ns, area) for area in areas.T])
    return np.diff(at_edges, axis=0) / widths[:, None]
