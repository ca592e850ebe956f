# SPDX-License-Identifier: Apache-2.0
"""Converts a finished session to a run."""

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
    """The parts of the applications that had begun, and the runtime of each alone, in nanoseconds.

    Raises:
        InvalidInput: nothing has begun.
    """
    # An application that was cancelled while an ordering held all its operations back has no launches.
    named = {each.name: each for each in applications}
    for each in applications:
        named.update((other.name, each) for other in each._elsewhere.values())
    require(len(done.applications) > 0, "nothing that was submitted to this session has begun")
    alone: dict[str, int] = {}
    parts = []
    for core, start, turnaround in zip(done.applications, record.arrivals, record.turnarounds, strict=True):
        application = named[core.name]
        is_whole = core.name == application.name and not application._cancelled
        alone[core.name] = alone_ns(application) if is_whole else turnaround
        launches = [each for each in core.operations if isinstance(each, _core.Launch)]
        parts.append(application._as_run(core.name, start, launches))
    return Workload("session", tuple(parts)), alone


def decided_by(ordering: str, policies: Sequence[str]) -> str:
    """The policies of a session, in their order, as a run names them.

    >>> decided_by("cumas", ["fifo", "srtf"]), decided_by("arrival", ["srtf"])
    ('cumas+fifo, then srtf', 'srtf')
    """
    policy = ", then ".join(policies)
    return f"{ordering}+{policy}" if is_ordering(ordering) else policy
