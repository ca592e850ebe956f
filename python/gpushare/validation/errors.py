# SPDX-License-Identifier: Apache-2.0
"""Errors of a prediction against a recording."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from gpushare import _core
from gpushare.extras import pandas as pd
from gpushare.validation.recording import PairRuns, Recording

SOLO_SMS = "solo time against SMs"
SOLO_RESIDENCY = "solo time against blocks per SM"
ALONE = "launches in a row"
STP = "STP"
ANTT = "ANTT"
FIGURES = (SOLO_SMS, SOLO_RESIDENCY, ALONE, STP, ANTT)


def compared(recording: Recording, prediction: Recording) -> pd.DataFrame:
    """One row per figure and run: figure, what, way, point, measured, simulated, error (simulated / measured - 1).

    STP and ANTT are against the time alone under fifo, on the GPU as in the simulator: so they show the cost of
    sharing, not of workers. ``point`` is the number of SMs or of blocks per SM.
    """
    rows = [*_solo(recording, prediction), *_alone(recording, prediction), *_pairs(recording, prediction)]
    table = pd.DataFrame(rows, columns=["figure", "what", "way", "point", "measured", "simulated"])
    table["error"] = table["simulated"] / table["measured"] - 1
    return table


def _solo(recording: Recording, prediction: Recording) -> Iterator[tuple[object, ...]]:
    for measured, simulated in zip(recording.solo, prediction.solo, strict=True):
        if measured.residency:
            yield SOLO_RESIDENCY, measured.kernel, "", measured.residency, measured.median_ns, simulated.median_ns
        else:
            yield SOLO_SMS, measured.kernel, "", measured.sms, measured.median_ns, simulated.median_ns


def _alone(recording: Recording, prediction: Recording) -> Iterator[tuple[object, ...]]:
    for measured, simulated in zip(recording.alone, prediction.alone, strict=True):
        yield ALONE, measured.kernel, "fifo", measured.launches, measured.median_ns, simulated.median_ns


def _pairs(recording: Recording, prediction: Recording) -> Iterator[tuple[object, ...]]:
    for measured, simulated in zip(recording.pairs, prediction.pairs, strict=True):
        name = "+".join(measured.kernels)
        pairs = [slowdowns(measured, recording), slowdowns(simulated, prediction)]
        yield STP, name, measured.way, 0, *(_core.system_throughput(each) for each in pairs)
        yield ANTT, name, measured.way, 0, *(_core.average_normalized_turnaround(each) for each in pairs)


def slowdowns(runs: PairRuns, recording: Recording) -> list[float]:
    """Turnaround / turnaround alone under fifo of both kernels, medians over the repeats."""
    alone = {each.kernel: each.median_ns for each in recording.alone}
    turnarounds = [statistics.median(each) for each in zip(*runs.turnaround_ns, strict=True)]
    return [time / alone[kernel] for time, kernel in zip(turnarounds, runs.kernels, strict=True)]


def summary(table: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Number of points; median, 90th percentile and maximum of the errors' sizes; median of the signed errors."""
    sizes = table.assign(size=table["error"].abs())
    groups = sizes.groupby(list(by), sort=False)
    return groups.agg(
        points=("size", "size"),
        median=("size", "median"),
        p90=("size", lambda size: size.quantile(0.9)),
        worst=("size", "max"),
        bias=("error", "median"),
    )
