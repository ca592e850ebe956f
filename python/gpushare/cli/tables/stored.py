# SPDX-License-Identifier: Apache-2.0
"""Tables of what files hold: the difference of two results, and a server's trace."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from gpushare.cli.output import duration, print_table, share
from gpushare.results.words import METRICS

if TYPE_CHECKING:
    from gpushare.results.difference import Change, Difference
    from gpushare.results.server_trace import ServerTrace

SHOWN = ("stp", "antt", "strictf", "makespan_ns", "sm_utilisation", "board_joules")
"""Metrics in the table; JSON has all."""


def print_difference(found: Difference, old: str, new: str) -> None:
    """One row per policy and metric."""
    shown = [each for each in found.changes if each.metric in SHOWN]
    rows = [
        [
            each.policy if each.metric == SHOWN[0] else "",
            METRICS[each.metric].short,
            _value(each, each.old),
            _value(each, each.new),
            "-" if math.isnan(each.ratio) else f"{each.ratio:.3f}",
            each.words,
        ]
        for each in shown
    ]
    count = len(found.workloads)
    what = found.workloads[0] if count == 1 else f"mean over {count} workloads (geometric for ratios)"
    columns = ["policy", "metric", "old", "new", "new / old", ""]
    print_table(f"{what}: {old} (old) and {new} (new)", columns, rows, texts=2)


def _value(change: Change, value: float) -> str:
    if math.isnan(value):
        return "-"
    if change.metric.endswith("_ns"):
        return duration(value)
    return share(value) if change.metric.endswith("_utilisation") else f"{value:.3f}"


def trace_summary(trace: ServerTrace) -> list[dict[str, Any]]:
    """A row per application: its jobs, and how long they waited and ran, in nanoseconds."""
    running, waiting = trace.running(), trace.waiting()

    def spent(table: Any, application: str) -> int:
        own = table[table["application"] == application]
        return int((own["end_ns"] - own["begin_ns"]).sum())

    return [
        {
            "application": name,
            "jobs": int((running["application"] == name).sum()),
            "waiting_ns": spent(waiting, name),
            "running_ns": spent(running, name),
        }
        for name in trace.applications
    ]


def print_trace(trace: ServerTrace) -> None:
    """The summary as a table."""
    rows = [
        [each["application"], str(each["jobs"]), duration(each["waiting_ns"]), duration(each["running_ns"])]
        for each in trace_summary(trace)
    ]
    title = f"{duration(trace.end_ns)} of a server on {trace.device}"
    print_table(title, ["application", "jobs that ran", "waited (sum)", "ran (sum)"], rows)
