# SPDX-License-Identifier: Apache-2.0
"""Time until a policy that searches SM allocations has found its final one, from the trace of a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import itemgetter

from gpushare.results.run import Run

SHORTEST_NS = 1_000_000
"""A shorter allocation was not a trial: the SMs of an idle application were in use by others."""


@dataclass(frozen=True)
class Search:
    """The search of one run, while all applications run.

    Attributes:
        divisions: number of different allocations.
        found_ns: first time at which the last one was in force.
        over_ns: time from which on it stayed in force.
    """

    divisions: int
    found_ns: int
    over_ns: int

    @staticmethod
    def of(run: Run) -> Search | None:
        """Evaluates a run with its trace; None if no allocation was in force for a millisecond."""
        held = list(_held(run))
        if not held:
            return None
        last = held[-1][1]
        return Search(
            divisions=len({division for _, division in held}),
            found_ns=next(time for time, division in held if division == last),
            over_ns=held[-1][0],
        )


def _held(run: Run) -> Iterator[tuple[int, str]]:
    """Start times and quotas, without repetitions."""
    end = min(run.record.ends)
    changes = [*((time, division) for time, division in _divisions(run) if time < end), (end, "")]
    before = ""
    for (time, division), (until, _) in pairwise(changes):
        if until - time >= SHORTEST_NS and division != before:
            yield time, division
            before = division


def _divisions(run: Run) -> Iterator[tuple[int, str]]:
    """The latest quota of every application, at every change."""
    arrivals = run.trace.launch_arrivals()
    owner = dict(zip(arrivals["operation"], arrivals["application"], strict=True))
    latest: dict[int, str] = {}
    before = ""
    for time, rows in groupby(run.trace.decisions(), key=itemgetter(0)):
        latest |= {owner[launch]: str(quota) for _, _, launch, quota, *_ in rows}
        division = " + ".join(latest[each] for each in sorted(latest))
        if len(latest) == len(run.workload.applications) and division != before:
            yield time, division
            before = division
