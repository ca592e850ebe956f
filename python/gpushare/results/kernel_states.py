# SPDX-License-Identifier: Apache-2.0
"""EffiSha's states of a launch, and the number of preemptions of each application, from a run's trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpushare import _core
from gpushare.checks import require
from gpushare.extras import pandas as pd
from gpushare.model.workload import Launch, Workload

if TYPE_CHECKING:
    from gpushare.results.run import Run


def kernel_states(run: Run) -> pd.DataFrame:
    """See :meth:`gpushare.Run.kernel_states`."""
    require(run.has_blocks, f"the run of {run.policy!r} has no states: the hardware scheduled it")
    counted = as_counted(run.workload)
    by_device = [_core.kernel_states(trace, counted) for trace in run.traces]
    table = pd.DataFrame({name: [value for each in by_device for value in each[name]] for name in by_device[0]})
    table = table.sort_values(["operation", "begin_ns"], kind="stable", ignore_index=True)
    names = [application.name for application in run.workload.applications]
    table["application"] = [names[application] for application in table["application"]]
    return table


def preemptions(run: Run) -> pd.DataFrame:
    """See :meth:`gpushare.Run.preemptions`."""
    states = kernel_states(run)
    evictions = states[states["state"] == "TOEVICT"]
    delays = (evictions["end_ns"] - evictions["begin_ns"]).groupby(evictions["application"])
    counts, means = delays.count(), delays.mean()
    return pd.DataFrame(
        [
            {
                "application": application.name,
                "priority": application.priority,
                "preemptions": int(counts.get(application.name, 0)),
                "eviction_ns": float(means.get(application.name, float("nan"))),
            }
            for application in run.workload.applications
        ]
    )


def as_counted(workload: Workload) -> _core.CoreWorkload:
    """The workload with only the blocks of its launches, which determine the states."""
    kernel = _core.KernelModel("any", threads=1, latency_ns=1)
    return workload.core(
        lambda operation, _: _core.Launch(kernel, operation.blocks) if isinstance(operation, Launch) else operation.on()
    )
