# SPDX-License-Identifier: Apache-2.0
"""The last seconds of a device for a picture: per application its quotas, the SMs that it held, and its jobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

COLUMNS = 480
"""Intervals of the picture; each has the mean number of SMs."""
MOST_ROWS = 2000
"""Jobs in the picture, and quotas; the last ones."""


def timeline(history: Any, seconds: float) -> dict[str, Any]:
    """The window that ends with the history, as values for JSON.

    Args:
        history: a session's history: ``now_ns``, and the columns of ``operations()``, ``quotas()`` and ``holds()``.
        seconds: length of the window.

    Returns:
        ``seconds``; per application its ``name``, and in ``held`` the mean number of SMs with blocks of it in each of
        480 equal intervals; ``jobs`` with the application's number, the kernel (empty: a copy), begin and end in
        seconds from the window's begin; ``quotas`` likewise, with blocks per SM as in a status instead of a kernel; and
        ``left_out``, how many jobs and quotas are not there.
    """
    begin_ns, span_ns = history.now_ns - round(seconds * 1e9), seconds * 1e9
    holds, operations, quotas = history.holds(), history.operations(), history.quotas()
    names = sorted({*holds["application"], *operations["application"], *quotas["application"]})
    jobs = _slices(operations, ("application", "kernel", "began_ns", "end_ns"), names, begin_ns)
    plans = _slices(quotas, ("application", "quota", "begin_ns", "end_ns"), names, begin_ns)
    edges = begin_ns + np.linspace(0, span_ns, COLUMNS + 1)
    held = {name: _held(holds, name, edges) for name in names}
    return {
        "seconds": seconds,
        "applications": [{"name": name, "held": np.round(held[name], 2).tolist()} for name in names],
        "jobs": jobs[-MOST_ROWS:],
        "quotas": plans[-MOST_ROWS:],
        "left_out": max(len(jobs) - MOST_ROWS, 0) + max(len(plans) - MOST_ROWS, 0),
    }


def _slices(table: dict[str, list[Any]], columns: Sequence[str], names: list[str], begin_ns: int) -> list[list[Any]]:
    """The rows that have begun and reach into the window, in the order of their ends."""
    numbers = {name: number for number, name in enumerate(names)}
    return [
        [numbers[name], text, max(began - begin_ns, 0) / 1e9, (end - begin_ns) / 1e9]
        for name, text, began, end in zip(*(table[column] for column in columns), strict=True)
        if began is not None and end > begin_ns
    ]


def _held(holds: dict[str, list[Any]], name: str, edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean of the step function in each interval: the difference of its integral at the edges."""
    steps = [
        (time_ns, sms) for each, sms, time_ns in zip(*(holds[column] for column in ("application", "sms", "time_ns")),
                                                      strict=True) if each == name
    ]  # fmt: skip
    if not steps:
        return np.zeros(len(edges) - 1)
    times, sms = np.array([time for time, _ in steps], float), np.array([count for _, count in steps], float)
    integral = np.concatenate([[0.0], np.cumsum(sms[:-1] * np.diff(times))])
    last = integral[-1] + sms[-1] * np.maximum(edges - times[-1], 0)
    at_edges = np.where(edges > times[-1], last, np.interp(edges, times, integral))
    return np.diff(at_edges) / np.diff(edges)
