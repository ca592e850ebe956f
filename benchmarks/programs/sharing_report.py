# SPDX-License-Identifier: Apache-2.0
"""The tables of sharing.py: values relative to those alone in the same round."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from benchmarks.programs.loads import LOADS

PERCENTILES = (50, 99)


def percentile(values: Sequence[float], percent: int) -> float:
    """Of values in any order."""
    return sorted(values)[min(len(values) * percent // 100, len(values) - 1)]


def speed(shared: Mapping[str, Any], alone: Mapping[str, Any]) -> float:
    """Relative to that alone: of a server, by the mean time of a request."""
    if "per_s" in shared:
        return float(shared["per_s"] / alone["per_s"])
    return statistics.fmean(alone["request_s"]) / statistics.fmean(shared["request_s"])


class Row(NamedTuple):
    """A way's values for a load: medians over the rounds, and percentiles of all latencies relative to those alone."""

    way: str
    rounds: int
    requests: int
    speeds: dict[str, float]
    latencies: dict[str, float]
    stp: float
    antt: float


def rows(found: Mapping[str, Any], load: str) -> list[Row]:
    """All ways of a load."""
    units = [unit for unit in found["units"] if unit["load"] == load]
    made = []
    for way in dict.fromkeys(way for unit in units for way in unit["ways"]):
        both = [(unit["ways"][way], unit["alone"]) for unit in units if way in unit["ways"]]
        each_round = [{name: speed(shared[name], alone[name]) for name in shared} for shared, alone in both]
        latencies, requests = {}, 0
        for name in both[0][0]:
            if "request_s" not in both[0][0][name]:
                continue
            requests = sum(len(shared[name]["request_s"]) for shared, _ in both)
            for part, percent in itertools.product(("first_s", "token_s"), PERCENTILES):
                values = [[value for each in side for value in each[name][part]] for side in zip(*both, strict=True)]
                latencies[f"{part} p{percent}"] = percentile(values[0], percent) / percentile(values[1], percent)
        made.append(
            Row(
                way,
                len(both),
                requests,
                {name: statistics.median(each[name] for each in each_round) for name in each_round[0]},
                latencies,
                statistics.median(sum(each.values()) for each in each_round),
                statistics.median(statistics.fmean(1 / value for value in each.values()) for each in each_round),
            )
        )
    return made


def report(found: Mapping[str, Any]) -> None:
    """Prints a table for each load; ``*`` is behind the percentages of MPS with the highest STP."""
    for load in dict.fromkeys(unit["load"] for unit in found["units"]):
        made = rows(found, load)
        if not made:
            continue
        best = max((row for row in made if "/" in row.way), key=lambda row: row.stp, default=None)
        names = [*made[0].speeds, *made[0].latencies, "STP", "ANTT"]
        print(f"\n{load:42} rounds requests " + " ".join(f"{name:>13}" for name in names))
        for row in made:
            values = [*row.speeds.values(), *row.latencies.values(), row.stp, row.antt]
            mark = " *" if row is best else ""
            line = " ".join(f"{value:13.3f}" for value in values)
            print(f"{row.way + mark:42} {row.rounds:6} {row.requests:8} {line}")
        print(f"alone: {', '.join(told_alone(found, load))}")


def told_alone(found: Mapping[str, Any], load: str) -> Iterator[str]:
    """The values of the programs alone, over all rounds."""
    units = [unit["alone"] for unit in found["units"] if unit["load"] == load]
    for name in LOADS[load]:
        if "per_s" in units[0][name]:
            values = [unit[name]["per_s"] for unit in units]
            yield f"{name} {statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f}) a second"
            continue
        for part, percent in itertools.product(("first_s", "token_s"), PERCENTILES):
            pooled = [value for unit in units for value in unit[name][part]]
            yield f"{name} {part} p{percent} {1e3 * percentile(pooled, percent):.2f} ms"
