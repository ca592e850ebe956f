# SPDX-License-Identifier: Apache-2.0
"""What a finished session has done and by what, as a run is made of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gpushare import _core
from gpushare.backends.base import is_ordering
from gpushare.checks import require
from gpushare.model.workload import Workload

if TYPE_CHECKING:
    from gpushare.session.application import SessionApplication


def begun_work(
    applications: Sequence[SessionApplication],
    done: _core.CoreWorkload,
    record: _core.RunRecord,
    alone_ns: Callable[[SessionApplication], int],
) -> tuple[Workload, dict[str, int]]:
    """What of the applications has begun, and how long each would have taken alone, in nanoseconds.

    Raises:
        InvalidInput: nothing has begun.
    """
    # Who was cancelled while an ordering held everything of it back has left nothing.
    launches = {each.name: len(each.operations) for each in done.applications}
    begun = [each for each in applications if each.name in launches]
    require(len(begun) > 0, "nothing that was submitted to this session has begun")
    times = list(zip(begun, record.arrivals, record.turnarounds, strict=True))
    alone = {each.name: turnaround if each._cancelled else alone_ns(each) for each, _, turnaround in times}
    return Workload("session", tuple(each._as_run(start, launches[each.name]) for each, start, _ in times)), alone


def decided_by(ordering: str, policies: Sequence[str]) -> str:
    """The policies that a session has had, one after the other, as a run names them.

    >>> decided_by("cumas", ["fifo", "srtf"]), decided_by("arrival", ["srtf"])
    ('cumas+fifo, then srtf', 'srtf')
    """
    policy = ", then ".join(policies)
    return f"{ordering}+{policy}" if is_ordering(ordering) else policy
