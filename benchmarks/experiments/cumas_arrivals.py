# SPDX-License-Identifier: Apache-2.0
"""Beyond CuMAS's evaluation: applications that come by and by, and what the windows are ordered for.

python benchmarks/experiments/cumas_arrivals.py --seeds 5
"""

from __future__ import annotations

import argparse
import random
from dataclasses import replace
from statistics import mean

from gpushare.compare import compare
from gpushare.model.kernel_model import KernelModel
from gpushare.model.operation import Copy, Launch
from gpushare.model.workload import Application, Workload, bundled_workload
from gpushare.reproduce.cumas.runs import STRINGS, policy_of
from gpushare.reproduce.reproduction import Reproduction, Section
from gpushare.results.run import Run

APPLICATIONS = 36
MEAN_GAP_MS = 250
"""Mean time between arrivals. An application needs about 225 ms of the SMs in the mean, and 193 ms of the uplink."""

POLICIES = {
    "streams (fifo)": "fifo",
    "strings": STRINGS,
    "cumas, makespan": policy_of("cumas"),
    "cumas, makespan, pieces": policy_of("cumas", ":pieces=short"),
    "cumas, mean turnaround, whole copies": policy_of("cumas", ":objective=turnaround:pieces=no"),
    "cumas, mean turnaround": policy_of("cumas", ":objective=turnaround"),
    "cumas, weighted turnaround, whole copies": policy_of("cumas", ":objective=weighted:pieces=no"),
    "cumas, weighted turnaround": policy_of("cumas", ":objective=weighted"),
}
"""The last two objectives have copies in pieces by default."""

MIXED = {
    **{name: policy for name, policy in POLICIES.items() if "weighted" not in name},
    "cumas, mean turnaround, whole copies, two tasks in kernels": policy_of(
        "cumas", ":objective=turnaround:pieces=no:kernels=2"
    ),
    "cumas, mean turnaround, two tasks in kernels": policy_of("cumas", ":objective=turnaround:kernels=2"),
}
SMALL_BYTES = 10**6
SMALL_KERNEL = KernelModel("small", threads=1024, shared_memory_bytes=49152, latency_ns=1e6)
SMALL_GAP_MS = 100


def arriving(seed: int, applications: int = APPLICATIONS) -> Workload:
    """Applications of Table 1, drawn at random, with exponential gaps between them; a third have weight 4."""
    dice = random.Random(seed)
    workload = bundled_workload("cumas")
    found = []
    arrival_ns = 0.0
    for number in range(applications):
        drawn = dice.choice(workload.applications)
        weight = 4.0 if dice.random() < 1 / 3 else 1.0
        found.append(replace(drawn, name=f"{number} {drawn.name}", arrival_ns=round(arrival_ns), weight=weight))
        arrival_ns += dice.expovariate(1 / (MEAN_GAP_MS * 1e6))
    return replace(workload, name=f"arrivals {seed}", applications=tuple(found))


def small_among_large(seed: int) -> Workload:
    """The same at half the rate, with small ones: 1 MB each way and a kernel of 1 ms, ten times a second."""
    large = arriving(seed, APPLICATIONS // 2)
    slower = [replace(each, arrival_ns=2 * each.arrival_ns) for each in large.applications]
    dice = random.Random(1000 + seed)
    operations = (Copy("to_device", SMALL_BYTES), Launch(SMALL_KERNEL, 15), Copy("to_host", SMALL_BYTES))
    small = []
    arrival_ns = dice.expovariate(1 / (SMALL_GAP_MS * 1e6))
    while arrival_ns < slower[-1].arrival_ns:
        small.append(Application(f"small {len(small)}", operations, arrival_ns=round(arrival_ns)))
        arrival_ns += dice.expovariate(1 / (SMALL_GAP_MS * 1e6))
    return replace(large, name=f"mixed {seed}", applications=(*slower, *small))


def arrivals_section(seeds: int, progress: bool | None) -> Section:
    """An open stream of applications under every objective."""
    import pandas as pd

    result = compare([arriving(seed) for seed in range(seeds)], list(POLICIES.values()), progress=progress)
    rows = {}
    for name, policy in POLICIES.items():
        runs = [each for each in result.runs if each.policy == policy]
        rows[name] = {
            "last end, ms": mean(max(each.record.ends) for each in runs) / 1e6,
            "mean turnaround, ms": mean(mean(turnarounds_ms(each)) for each in runs),
            "weighted turnaround, ms": mean(weighted_turnaround_ms(each) for each in runs),
            "longest, ms": mean(max(turnarounds_ms(each)) for each in runs),
        }
    note = (
        f"Not in the paper: {APPLICATIONS} applications of Table 1, drawn at random, {MEAN_GAP_MS} ms apart in the "
        f"mean (exponential), {seeds} streams; windows of 8. A third of the applications have weight 4, the others 1. "
        "Pieces lose 2 % of the bandwidth."
    )
    return Section("Open arrivals, and what windows are ordered for", pd.DataFrame(rows).T, note)


def mixed_section(seeds: int, progress: bool | None) -> Section:
    """The purpose of pieces: small applications among large ones."""
    import pandas as pd

    result = compare([small_among_large(seed) for seed in range(seeds)], list(MIXED.values()), progress=progress)
    rows = {}
    for name, policy in MIXED.items():
        runs = [each for each in result.runs if each.policy == policy]
        large = [time for each in runs for time in turnarounds_ms(each)[: APPLICATIONS // 2]]
        small = [time for each in runs for time in turnarounds_ms(each)[APPLICATIONS // 2 :]]
        rows[name] = {"small, mean ms": mean(small), "small, longest ms": max(small), "large, mean ms": mean(large)}
    note = (
        f"Not in the paper: {APPLICATIONS // 2} applications of Table 1, {2 * MEAN_GAP_MS} ms apart in the mean, and "
        f"every {SMALL_GAP_MS} ms in the mean one that copies {SMALL_BYTES // 10**6} MB each way and computes for 1 ms "
        f"(alone 1.4 ms); {seeds} streams. A small one's copies need not wait, its kernel does: for all "
        "kernels of a task, or of one of two. Under 'fifo' it waits for one launch of each of the others."
    )
    return Section("Open arrivals, small applications among large ones", pd.DataFrame(rows).T, note)


def turnarounds_ms(made: Run) -> list[float]:
    """Turnarounds of all applications, in the workload's order."""
    return [(end - arrival) / 1e6 for arrival, end in zip(made.record.arrivals, made.record.ends, strict=True)]


def weighted_turnaround_ms(made: Run) -> float:
    """Their mean, by the applications' weights."""
    weights = [each.weight for each in made.workload.applications]
    times = zip(turnarounds_ms(made), weights, strict=True)
    return sum(time * weight for time, weight in times) / sum(weights)


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    seeds = parser.parse_args().seeds
    sections = (arrivals_section(seeds, None), mixed_section(seeds, None))
    print(Reproduction("CuMAS: applications that come by and by", sections).text())


if __name__ == "__main__":
    main()
