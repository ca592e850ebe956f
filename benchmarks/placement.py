# SPDX-License-Identifier: Apache-2.0
"""How good placements on several simulated GPUs are, against the best of all placements.

    python -m benchmarks.placement sets.json --sets 200                  # goes on where it stopped
    python -m benchmarks.placement sets.json --summary FILE --plot FILE

A set is four to eight applications that arrive together. Each launches a kernel of the suite again and again. The GPUs
are parts of an H100: 8 of its SMs, with as much of its bandwidth and memory. They do not influence one another, so
every subset of a set is run once on one GPU, and the best placement on any number of equal GPUs follows from these
runs: no placement is left out. The placements of gpushare are then run on all GPUs.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.gpu.suite_on_gpu import TWENTY

import gpushare
from gpushare import _core
from gpushare._core import Device
from gpushare.files.atomic_write import write_atomically
from gpushare.model.device_text import device_text
from gpushare.model.devices import changed_device, simulated_device
from gpushare.model.kernel_model import KernelModel
from gpushare.model.workload import Application, Launch, Workload

SMS = 8
GPUS = (2, 4, 8)
SIZES = (4, 5, 6, 7, 8)
ALL = "all"
PLACES = ("predicted", "least-loaded", "first-fit")
COLOURS = {"predicted": "#0b6e4f", "least-loaded": "#c8553d", "first-fit": "#8d99ae", "mean of all": "#d9c27e"}
LAUNCH_US = (200.0, 500.0)
LAUNCHES = (3, 10)
MEMORY_SHARE = (0.025, 0.225)
"""Of a GPU's memory: up to four applications of the largest share fit."""
SHORTEST_ROUND_NS = 10_000
"""Kernels with shorter blocks have many of them, which take long to simulate."""


def device() -> Device:
    """A part of the H100."""
    whole = simulated_device("h100")
    share = SMS / whole.sms
    off_sm = _core.OffSmBandwidth(
        llc_bytes_per_s=share * whole.off_sm.llc_bytes_per_s,
        dram_bytes_per_s=share * whole.off_sm.dram_bytes_per_s,
        delay_linear=whole.off_sm.delay_linear,
        delay_saturating=whole.off_sm.delay_saturating,
    )
    memory = round(share * whole.memory_bytes)
    return changed_device(whole, name=f"h100-{SMS}-sms", sms=SMS, off_sm=off_sm, memory_bytes=memory)


@cache
def kernels() -> dict[str, tuple[KernelModel, int, float]]:
    """By name: the model, the blocks that fill all SMs, and the time of such a round alone in nanoseconds."""
    on, found = simulated_device("h100"), {}
    for name in TWENTY:
        model = Launch.of_suite(name, "large").model_on(on)
        core = model.on(on)
        round_ns = _core.max_residency(on, core) * on.sms / _core.rate_alone(on, core)
        if round_ns >= SHORTEST_ROUND_NS:
            found[name] = (model, SMS * _core.max_residency(on, core), round_ns)
    return found


def workload_of(number: int) -> Workload:
    """The set of this number: sizes take turns, everything else is drawn with the number as its seed."""
    dice = random.Random(number)
    applications = []
    for place, name in enumerate(dice.sample(list(kernels()), SIZES[number % len(SIZES)])):
        model, blocks, round_ns = kernels()[name]
        rounds = max(1, round(dice.uniform(*LAUNCH_US) * 1e3 / round_ns))
        launches = dice.randint(*LAUNCHES) * (Launch(model, rounds * blocks),)
        memory = round(dice.uniform(*MEMORY_SHARE) * device().memory_bytes)
        applications.append(Application(f"{place}-{name}", launches, memory_bytes=memory))
    return Workload(f"set-{number}", tuple(applications))


def measured(number: int, policy: str, on: Path, pool: ThreadPoolExecutor) -> dict[str, Any]:
    """The STP of every subset that fits one GPU, by its bits, and of each placement on all numbers of GPUs.

    Args:
        number: of the set.
        policy: on every GPU.
        on: the file of the GPU.
        pool: makes the runs.
    """
    whole = workload_of(number)
    memory = device().memory_bytes
    subsets = {bits: [each for place, each in enumerate(whole.applications) if bits >> place & 1]
               for bits in range(1, 1 << len(whole.applications))}  # fmt: skip
    fitting = {bits: each for bits, each in subsets.items() if sum(one.memory_bytes for one in each) <= memory}
    alone = {bits: pool.submit(stp, Workload(whole.name, each), policy, str(on)) for bits, each in fitting.items()}
    placed = {
        gpus: {place: pool.submit(stp, whole, policy, f"{on}*{gpus}", place) for place in PLACES} for gpus in GPUS
    }
    return {
        "subsets": {bits: job.result() for bits, job in alone.items()},
        "placed": {gpus: {place: job.result() for place, job in jobs.items()} for gpus, jobs in placed.items()},
    }


def stp(workload: Workload, policy: str, device: str, place: str = "first-fit") -> float:
    """The STP of a run."""
    return gpushare.run(workload, policy, device=device, place=place, record=False).metrics()["stp"]


def divisions(members: Sequence[int], parts: int) -> Iterator[list[int]]:
    """All divisions of the members among equal GPUs, as the bits of each part."""
    if not members:
        yield []
        return
    first, *others = members
    for rest in divisions(others, parts):
        for place in range(len(rest)):
            yield [*rest[:place], rest[place] | 1 << first, *rest[place + 1 :]]
        if len(rest) < parts:
            yield [*rest, 1 << first]


def compared(content: dict[str, Any]) -> list[dict[str, Any]]:
    """For every set and number of GPUs, the best and the mean STP of all placements, and those of gpushare."""
    rows = []
    for gpus in GPUS:
        for number, each in content["sets"].items():
            subsets = {int(bits): value for bits, value in each["subsets"].items()}
            sums = [
                sum(subsets[part] for part in division)
                for division in divisions(range(SIZES[int(number) % len(SIZES)]), gpus)
                if all(part in subsets for part in division)
            ]
            of_all = {"best": max(sums), "mean of all": statistics.fmean(sums)}
            rows.append({"gpus": gpus, "set": int(number), **of_all, **each["placed"][str(gpus)]})
    return rows


def summary(sets: Sequence[dict[str, Any]], policy: str) -> dict[str, Any]:
    """The tables: each placement against the best of all and against least-loaded; and the sets."""
    rows = []
    for gpus in (*GPUS, ALL):
        chosen = [each for each in sets if gpus in (each["gpus"], ALL)]
        for name in (*PLACES, "mean of all"):
            ratios = [each[name] / each["best"] for each in chosen]
            rows.append(
                {
                    "gpus": str(gpus),
                    "place": name,
                    "of_best": statistics.geometric_mean(ratios),
                    "least": min(ratios),
                    "within_5": statistics.fmean(each >= 0.95 for each in ratios),
                    "over": statistics.geometric_mean(each[name] / each["least-loaded"] for each in chosen),
                }
            )
    columns = {key: [round(each[key], 4) for each in sets] for key in sets[0]}
    tables = [{"title": "placements", "rows": rows, "note": ""}, {"title": "sets", "columns": columns}]
    count = len(sets) // len(GPUS)
    command = f"python -m benchmarks.placement sets.json --sets {count} --policy {policy}"
    commit = subprocess.run(["git", "rev-parse", "--short=8", "HEAD"], capture_output=True, text=True, check=True)
    run = {"device": "simulated parts of an H100", "date": f"{datetime.now(UTC):%Y-%m-%d}",
           "commit": commit.stdout.strip(), "command": command}  # fmt: skip
    return {"run": run, "tables": tables}


def draw(sets: Sequence[dict[str, Any]], path: Path) -> None:
    """Each placement's ratios to the best of all, in ascending order."""
    from gpushare.plots.axes import clean, detached_figure

    figure = detached_figure(9.5, 3.4)
    axes = figure.subplots(1, len(GPUS), sharey=True)
    for ax, gpus in zip(axes, GPUS, strict=True):
        chosen = [each for each in sets if each["gpus"] == gpus]
        for rank, (name, colour) in enumerate(COLOURS.items()):
            ratios = sorted(each[name] / each["best"] for each in chosen)
            ax.plot(ratios, color=colour, label=name, zorder=4 - rank / 4, linewidth=2.4 if rank == 1 else 1.6)
        ax.axhline(0.95, color="#333333", linewidth=0.6, linestyle=":")
        ax.set_xlabel("sets, the worst first")
        clean(ax, f"{gpus} GPUs")
    axes[0].set_ylabel("STP / best of all placements")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    figure.savefig(path, dpi=110)


def main() -> None:
    """Runs the sets that the file lacks, or summarizes those that it has."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.placement", description=__doc__)
    parser.add_argument("file", type=Path, help="where the runs are kept")
    parser.add_argument("--sets", type=int, default=0, help="sets to run, with those in the file")
    parser.add_argument("--policy", default="auto")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--summary", type=Path, help="write the tables to this file")
    parser.add_argument("--plot", type=Path, help="write the picture to this file")
    options = parser.parse_args()
    content = json.loads(options.file.read_text()) if options.file.exists() else {"policy": options.policy, "sets": {}}
    if content["policy"] != options.policy:
        raise SystemExit(f"{options.file} has runs under {content['policy']!r}: name another file")
    on = options.file.with_suffix(".toml")
    write_atomically(on, device_text(device(), ["8 of the SMs of an H100: benchmarks/placement.py"]).encode())
    with ThreadPoolExecutor(options.threads) as pool:
        for number in range(options.sets):
            if str(number) not in content["sets"]:
                content["sets"][str(number)] = json.loads(json.dumps(measured(number, options.policy, on, pool)))
                write_atomically(options.file, json.dumps(content).encode())
                print(f"set {number}", flush=True)
    sets = compared(content)
    tables = summary(sets, content["policy"])
    for row in tables["tables"][0]["rows"]:
        print({key: round(value, 4) if isinstance(value, float) else value for key, value in row.items()})
    if options.summary is not None:
        write_atomically(options.summary, (json.dumps(tables) + "\n").encode())
    if options.plot is not None:
        draw(sets, options.plot)


if __name__ == "__main__":
    main()
