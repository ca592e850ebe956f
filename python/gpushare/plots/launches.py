# SPDX-License-Identifier: Apache-2.0
"""Spans of launches from arrival to end, for runs that the hardware scheduled, which have no data on blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpushare.results.run import Run

Span = tuple[int, int]

NOTE = "One bar per launch, from its arrival to its end: the hardware does not report where and when blocks run."
FINEST = 1 / 1_600
"""Relative to the makespan: launches closer than this are drawn as one."""


def launch_spans(run: Run) -> dict[str, list[Span]]:
    """Start and end (ns) of launches per application; launches that a plot cannot separate are merged."""
    launches = run.launches().sort_values("arrival_ns", kind="stable")
    gap = run.record.makespan * FINEST
    spans: dict[str, list[Span]] = {each.name: [] for each in run.workload.applications}
    for row in launches.itertuples():
        found = spans[row.application]
        is_speck = found and row.end_ns - found[-1][0] < gap
        if is_speck:
            found[-1] = (found[-1][0], max(found[-1][1], row.end_ns))
        else:
            found.append((row.arrival_ns, row.end_ns))
    return spans
