# SPDX-License-Identifier: Apache-2.0
"""The devices of a run with several: whose an SM of the trace is, and where applications and launches were."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpushare.extras import pandas as pd

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpushare.results.run import Run


def first_sms(run: Run) -> NDArray[np.int64]:
    """By device, how many SMs the devices before it have: a trace numbers SMs through all of them."""
    return np.cumsum([0, *(each.sms for each in run.devices[:-1])])


def device_at(run: Run, sms: NDArray[np.int64]) -> NDArray[np.int64]:
    """The devices that have these SMs of the trace."""
    return np.searchsorted(first_sms(run), sms, side="right") - 1


def on_devices(run: Run, columns: dict[str, Any]) -> pd.DataFrame:
    """The columns of a trace, with devices and their own SMs for the SMs of the trace."""
    table = pd.DataFrame(columns)
    device = device_at(run, columns["sm"])
    table["device"] = device
    table["sm"] -= first_sms(run)[device]
    return table


def device_of_launches(run: Run) -> dict[int, int]:
    """By the numbers of the operations; nothing where there is one device."""
    if len(run.devices) == 1:
        return {}
    columns = run.trace.launch_arrivals()
    return dict(zip(columns["operation"].tolist(), device_at(run, columns["sm"]).tolist(), strict=True))


def placements(run: Run) -> pd.DataFrame:
    """See :meth:`gpushare.Run.placements`."""
    names = [application.name for application in run.workload.applications]
    begins, ends = (
        table.assign(stay=table.groupby("application").cumcount())
        for table in (on_devices(run, run.trace.arrivals()), on_devices(run, run.trace.ends()))
    )
    table = begins.merge(ends, on=["application", "device", "stay"], suffixes=("_begin", "_end"))
    table = table.rename(columns={"time_ns_begin": "begin_ns", "time_ns_end": "end_ns"})
    table["application"] = [names[application] for application in table["application"]]
    return table[["application", "device", "begin_ns", "end_ns"]]
