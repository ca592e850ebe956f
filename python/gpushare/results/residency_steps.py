# SPDX-License-Identifier: Apache-2.0
"""Resident blocks and waiting launches as step functions of time."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from gpushare.extras import pandas as pd
from gpushare.results.devices import on_devices

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from gpushare.results.run import Run


def residency_changes(run: Run) -> pd.DataFrame:
    """Changes of the number of resident blocks: launch, device, sm, time_ns, change."""
    return on_devices(run, run.trace.residency_changes()).rename(columns={"operation": "launch"})


def steps(times_ns: ArrayLike, changes: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The running sum of the changes as a step function: times and values.

    >>> steps([0, 5, 5, 9], [+2, -1, +1, -2])
    (array([0, 9]), array([2, 0]))
    """
    times, positions = np.unique(np.asarray(times_ns, dtype=np.int64), return_inverse=True)
    deltas = np.zeros(len(times), dtype=np.int64)
    np.add.at(deltas, positions, np.asarray(changes, dtype=np.int64))
    return times[deltas != 0], np.cumsum(deltas)[deltas != 0]


def waiting_launches(launches: pd.DataFrame, changes: pd.DataFrame) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Number of launches that have arrived, not ended, and have no resident block: times (ns) and values."""
    starts, ends = [], []
    running = dict(iter(changes.groupby("launch")))
    for row in launches.itertuples():
        since = row.arrival_ns
        times, resident = steps(running[row.launch]["time_ns"], running[row.launch]["change"])
        for has_blocks, change in groupby(zip(times, resident, strict=True), key=lambda step: step[1] > 0):
            time_ns = next(change)[0]
            if has_blocks:
                starts.append(since)
                ends.append(time_ns)
            else:
                since = time_ns
        starts.append(since)
        ends.append(row.end_ns)
    return steps(starts + ends, [1] * len(starts) + [-1] * len(ends))
