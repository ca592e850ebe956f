# SPDX-License-Identifier: Apache-2.0
"""When the hosts of a run's applications issued their operations."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpushare.results.run import Run


def issue_times(run: Run) -> list[int]:
    """By operation, in nanoseconds: the rule of src/core/model/host_pace.hpp, from the ends in the trace."""
    ends = dict(zip(*(run.trace.launch_ends()[column] for column in ("operation", "time_ns")), strict=True))
    copies = run.trace.copies()
    ends |= dict(zip(copies["operation"], copies["end_ns"], strict=True))
    issued: list[int] = []
    for application, arrival_ns in zip(run.workload.applications, run.record.arrivals, strict=True):
        now = arrival_ns
        for place, operation in enumerate(application.operations):
            now += round(operation.pace.host_ns)
            if operation.pace.after_ns is not None:
                before = ends[len(issued) - 1] if place > 0 else now
                now = max(now, before) + round(operation.pace.after_ns)
            issued.append(now)
    return issued
