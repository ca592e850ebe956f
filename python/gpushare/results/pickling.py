# SPDX-License-Identifier: Apache-2.0
"""How the core's records and traces are pickled, so that runs and results can go to other processes."""

from __future__ import annotations

import copyreg
from typing import Any, cast

from gpushare._core import RunRecord, Trace

FIGURES = (
    "arrivals",
    "ends",
    "turnarounds",
    "operation_durations",
    "sm_busy",
    "to_device_busy",
    "to_host_busy",
    "makespan",
    "blocks",
)
"""What makes a record, also in a saved result. A pickled record has no ``began`` and no ``longest_pause``."""


def _trace_of(data: bytes) -> Trace:
    return Trace.from_bytes(cast("Any", data))  # the stub says str for a std::string, which takes bytes


def _reduced_trace(trace: Trace) -> tuple[Any, ...]:
    return _trace_of, (trace.to_bytes(),)


def _record_of(figures: tuple[Any, ...], trace: Trace | None) -> RunRecord:
    return RunRecord(**dict(zip(FIGURES, figures, strict=True)), trace=trace)


def _reduced_record(record: RunRecord) -> tuple[Any, ...]:
    return _record_of, (tuple(getattr(record, name) for name in FIGURES), record.trace)


copyreg.pickle(Trace, _reduced_trace)
copyreg.pickle(RunRecord, _reduced_record)
