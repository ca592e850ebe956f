# SPDX-License-Identifier: Apache-2.0
"""What a finished session has done, as a workload and times that a run can be made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gpushare import _core
from gpushare.kernel_model import require
from gpushare.workload import Workload

if TYPE_CHECKING:
    from gpushare.session_application import SessionApplication


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
    times = list(zip(begun, record.arrivals, record.ends, strict=True))
    alone = {each.name: end - start if each._cancelled else alone_ns(each) for each, start, end in times}
    return Workload("session", tuple(each._as_run(start, launches[each.name]) for each, start, _ in times)), alone
