# SPDX-License-Identifier: Apache-2.0
"""When a policy that tries divisions of the GPU has found the one it stays with, by the trace of a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import itemgetter

from gpushare.results.run import Run

SHORTEST_NS = 1_000_000
"""What holds for less is no division that was tried: somebody's place was lent while nobody stood there."""


@dataclass(frozen=True)
class Search:
    """Of one run, while all were there.

    Attributes:
        divisions: how many different ones were in force.
        found_ns: when the last one was in force for the first time.
        over_ns: when it was in force for good.
    """

    divisions: int
    found_ns: int
    over_ns: int

    @staticmethod
    def of(run: Run) -> Search | None:
        """Of a run with its trace; None where no division was in force for a millisecond."""
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
    """From when on, which quotas; neighbours differ."""
    end = min(run.record.ends)
    changes = [*((time, division) for time, division in _divisions(run) if time < end), (end, "")]
    before = ""
    for (time, division), (until, _) in pairwise(changes):
        if until - time >= SHORTEST_NS and division != before:
            yield time, division
            before = division


def _divisions(run: Run) -> Iterator[tuple[int, str]]:
    """At every change: the latest quota of everybody."""
    arrivals = run.trace.launch_arrivals()
    owner = dict(zip(arrivals["operation"], arrivals["application"], strict=True))
    latest: dict[int, str] = {}
    before = ""
    for time, rows in groupby(run.trace.decisions(), key=itemgetter(0)):
        latest |= {owner[launch]: str(quota) for _, _, launch, quota in rows}
        division = " + ".join(latest[each] for each in sorted(latest))
        if len(latest) == len(run.workload.applications) and division != before:
            yield time, division
            before = division
