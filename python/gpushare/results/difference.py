# SPDX-License-Identifier: Apache-2.0
"""Two results side by side: what they have in common, metric by metric, and what makes them hard to compare."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from gpushare.checks import require
from gpushare.results.result import Result
from gpushare.results.words import METRICS

EQUAL_WITHIN = 1e-3
"""Ratios this near to 1 count as equal."""


@dataclass(frozen=True)
class Change:
    """One metric of one policy, in both results."""

    policy: str
    metric: str
    old: float
    new: float

    @property
    def ratio(self) -> float:
        """New over old; not a number where that is unknown or would divide by zero."""
        if self.old == self.new:
            return 1.0
        return self.new / self.old if self.old != 0 else math.nan

    @property
    def words(self) -> str:
        """Whether it became better or worse; empty where it is equal or unknown."""
        if not abs(self.ratio - 1) > EQUAL_WITHIN:
            return ""
        return "better" if (self.ratio < 1) == METRICS[self.metric].lower_is_better else "worse"

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"old": self.old, "new": self.new, "ratio": self.ratio, "change": self.words or "equal"}


@dataclass(frozen=True)
class Difference:
    """Metrics over the common workloads of the common policies.

    Attributes:
        workloads: the common workloads.
        changes: one per policy and metric.
        notes: what differs besides the metrics, a sentence each.
    """

    workloads: list[str]
    changes: list[Change]
    notes: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        policies: dict[str, dict[str, Any]] = {}
        for each in self.changes:
            policies.setdefault(each.policy, {})[each.metric] = each.to_dict()
        return {"workloads": self.workloads, "policies": policies, "notes": self.notes}


def difference(old: Result, new: Result) -> Difference:
    """Compares what both results have.

    Raises:
        InvalidInput: they have no workload or no policy in common.

    >>> import gpushare as gs
    >>> pair = gs.bundled_workload("ercbench").pairs()[0]
    >>> found = difference(gs.compare(pair, ["fifo", "srtf"]), gs.compare(pair, ["fifo"], seed=1))
    >>> found.changes[0].policy, found.changes[0].metric, found.notes
    ('fifo', 'stp', ['only in the old result: policy srtf', 'the seeds or repeats differ: 0 and 1'])
    """
    workloads = _common("workload", old.workloads, new.workloads)
    policies = _common("policy", old.policies, new.policies)
    before, after = (_part(each, workloads, policies) for each in (old, new))
    tables = before.metrics(), after.metrics()
    metrics = [name for name in METRICS if all(name in table for table in tables)]
    changes = [
        Change(policy, metric, *(float(table.at[policy, metric]) for table in tables))
        for policy in policies
        for metric in metrics
    ]
    return Difference(workloads, changes, [*_alone(old, new), *_conditions(before, after)])


def _common(what: str, old: list[str], new: list[str]) -> list[str]:
    common = [name for name in old if name in new]
    listed = f"the old one has {', '.join(old) or 'none'}, the new one {', '.join(new) or 'none'}"
    require(len(common) > 0, f"the two results have no {what} in common: {listed}")
    return common


def _part(result: Result, workloads: list[str], policies: list[str]) -> Result:
    return Result([run for run in result.runs if run.workload.name in workloads and run.policy in policies])


def _alone(old: Result, new: Result) -> Iterable[str]:
    """What only one of the results has."""
    pairs = (("policy", old.policies, new.policies), ("workload", old.workloads, new.workloads))
    for what, of_old, of_new in pairs:
        for which, here, there in (("old", of_old, of_new), ("new", of_new, of_old)):
            only = [name for name in here if name not in there]
            if only:
                yield f"only in the {which} result: {what} {', '.join(only)}"


def _conditions(old: Result, new: Result) -> Iterable[str]:
    """Differences of what was run, and where."""
    aspects: dict[str, Callable[[Result], list[str]]] = {
        "devices": lambda result: [f"{run.device_name}{'' if run.is_real else ' (simulated)'}" for run in result.runs],
        "drivers": lambda result: [run.measured.driver for run in result.runs if run.measured is not None],
        "seeds or repeats": lambda result: [str(run.seed) for run in result.runs],
    }
    for what, of in aspects.items():
        found = [", ".join(sorted(set(of(result)))) for result in (old, new)]
        if found[0] != found[1]:
            yield f"the {what} differ: {found[0] or 'none'} and {found[1] or 'none'}"
    contents = {run.workload.name: run.workload for run in old.runs}
    changed = {run.workload.name for run in new.runs if run.workload != contents[run.workload.name]}
    if changed:
        yield f"not the same workload, though of the same name: {', '.join(sorted(changed))}"
