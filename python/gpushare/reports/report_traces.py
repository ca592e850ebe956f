# SPDX-License-Identifier: Apache-2.0
"""Compact traces that are embedded in a report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpushare.plots.launches import launch_spans
from gpushare.plots.residency import Residency, residency

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpushare.results.result import Result
    from gpushare.results.run import Run

ALL_STEPS = 600_000
"""Largest number of residency changes in one report; each takes about 7 bytes."""
MOST_COPIES = 2_000
FEWEST_WORKLOADS, MOST_WORKLOADS = 2, 9
"""Number of embedded workloads if not all fit."""


def chosen_workloads(result: Result) -> list[str]:
    """All workloads if they fit; else some, ordered by the effect of the policy on STP, from largest to smallest.

    Empty if no trace was stored, since a run on a GPU cannot be repeated exactly.
    """
    if not all(run.has_trace for workload in result.workloads for run in _first_repeats(result, workload)):
        return []
    blocks = sum(run.record.blocks for run in result.runs if run.seed == result.runs[0].seed)
    fitting = int(len(result.workloads) * ALL_STEPS / (2 * max(blocks, 1)))  # a block has at most two changes
    if len(result.workloads) <= max(fitting, FEWEST_WORKLOADS):
        return result.workloads
    stp = result.per_workload()["stp"].groupby("workload", sort=False)
    ratio = (stp.max() / stp.min()).sort_values(ascending=False, kind="stable")
    count = min(max(fitting, FEWEST_WORKLOADS), MOST_WORKLOADS)
    return [ratio.index[round(place)] for place in np.linspace(0, len(ratio) - 1, count)]


def traces(result: Result, workloads: list[str]) -> list[dict[str, Any]]:
    """One compact trace per policy and workload, of the first repeat."""
    runs = [run for workload in workloads for run in _first_repeats(result, workload)]
    return [compact(run, ALL_STEPS // len(runs)) for run in runs]


def _first_repeats(result: Result, workload: str) -> list[Run]:
    """The first repeat of every policy with this workload."""
    policies = dict.fromkeys(run.policy for run in result.runs if run.workload.name == workload)
    return [result.run(policy, workload) for policy in policies]


def compact(run: Run, most_steps: int) -> dict[str, Any]:
    """A run as JSON: per SM a flattened list of [ticks since the previous change, series, blocks after it].

    A tick is ``tick_ns`` nanoseconds: 1 for few changes, else large enough that at most ``most_steps`` remain.
    """
    steps = residency(run)
    tick_ns = 1
    sms = run.sms if run.has_blocks else 0
    lanes = _lanes(steps, sms, tick_ns)
    while sum(len(lane) for lane in lanes) > 3 * most_steps:
        tick_ns *= 2
        lanes = _lanes(steps, sms, tick_ns)
    return {
        "workload": run.workload.name,
        "policy": run.policy,
        "device": run.device_name,
        "makespan_ns": run.record.makespan,
        "tick_ns": tick_ns,
        "applications": [
            {"name": application.name, "arrival_ns": arrival, "end_ns": end, "ntt": round(ntt, 4)}
            for application, arrival, end, ntt in zip(
                run.workload.applications, run.record.arrivals, run.record.ends, run.ntt(), strict=True
            )
        ],
        "series": [[series.application, series.kernel, series.max_residency] for series in steps.series],
        "lanes": lanes,
        "launches": [] if run.has_blocks else _launches(run),
        "copies": _copies(run),
    }


def _lanes(steps: Residency, sms: int, tick_ns: int) -> list[list[int]]:
    most = [series.max_residency for series in steps.series]  # a launch of an original kernel may report more
    return [_lane(times, np.minimum(blocks, most), tick_ns) for times, blocks in map(steps.lane, range(sms))]


def _lane(times_ns: NDArray[np.int64], blocks: NDArray[np.int32], tick_ns: int) -> list[int]:
    """Changes of one SM, flattened; within a tick only the last state counts."""
    ticks = times_ns // tick_ns
    last = np.append(np.diff(ticks) != 0, True)[: len(ticks)]
    ticks, blocks = ticks[last], blocks[last]
    step, series = np.nonzero(np.diff(blocks, axis=0, prepend=0))
    changes = np.column_stack([np.diff(ticks[step], prepend=0), series, blocks[step, series]])
    return changes.ravel().tolist()


def _launches(run: Run) -> list[list[int]]:
    """Per launch: application, start, end (ns); launches that cannot be separated are merged."""
    return [[number, start, end] for number, spans in enumerate(launch_spans(run).values()) for start, end in spans]


def _copies(run: Run) -> list[list[int]]:
    """Per copy: application, 0 (to the GPU) or 1 (to the host), start, end (ns), bytes; only the longest if many."""
    numbers = {application.name: number for number, application in enumerate(run.workload.applications)}
    rows = [
        [numbers[row.application], int(row.direction == "to_host"), row.start_ns, row.end_ns, row.bytes]
        for row in run.copies().itertuples()
    ]
    longest = sorted(rows, key=lambda row: row[2] - row[3])[:MOST_COPIES]
    return sorted(longest, key=lambda row: row[2])
