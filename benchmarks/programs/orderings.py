# SPDX-License-Identifier: Apache-2.0
"""Twelve unmodified programs whose copies and kernels are ordered: CuMAS against Strings and against none.

    python -m benchmarks.programs.orderings --ways mps,mps+strings,mps+cumas:window=12 --json orderings.json

The programs are there from the beginning, and get to work in an order that each permutation draws. A total time is from
the first one's begin to the last one's end. Permutations in the file are not repeated. Predicted totals are of a model
of three engines with the times that the programs' parts take alone.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.gpu.mps import mps_daemon
from benchmarks.programs.running import Answering, answering, compile_with_nvcc, server_for, write

import gpushare as gs
from gpushare import _core

SOURCE = Path(__file__).with_name("ordered.cu")
SUITE = Path(gs.__file__).with_name("suite")
ROUNDS_ALONE = 3
"""Rounds alone: later ones have loaded code, and pinned memory."""
PARTS = ("to_device_ns", "kernels_ns", "to_host_ns")
ENGINE_BYTES_PER_S = 1e9
"""Of the model's copy engines: a byte takes a nanosecond."""


@dataclass(frozen=True)
class Program:
    """Arguments of ordered.cu.

    Attributes:
        kernel: kernel of the suite.
        memory: pinned or pageable memory of the host.
        megabytes_in: bytes that it copies in, in 10^6.
        megabytes_out: bytes that it copies out, in 10^6.
        launches: launches in between.
    """

    kernel: str
    memory: str
    megabytes_in: float
    megabytes_out: float
    launches: int

    @property
    def arguments(self) -> list[str]:
        """The command line behind the program's file."""
        return [self.kernel, self.memory, f"{self.megabytes_in:g}", f"{self.megabytes_out:g}", str(self.launches)]


PROGRAMS = {
    "options": Program("black_scholes", "pinned", 360, 240, 4),
    "many_options": Program("black_scholes", "pinned", 120, 80, 60),
    "options_pageable": Program("black_scholes", "pageable", 60, 40, 40),
    "triad": Program("triad", "pinned", 500, 250, 2),
    "many_triads": Program("triad", "pinned", 100, 50, 100),
    "image": Program("stencil_2d", "pinned", 300, 300, 20),
    "image_pageable": Program("stencil_2d", "pageable", 50, 50, 40),
    "fractal": Program("mandelbrot", "pinned", 0.1, 300, 4),
    "small_fractal": Program("mandelbrot", "pinned", 0.1, 60, 12),
    "bodies": Program("nbody", "pinned", 16, 16, 3),
    "many_bodies": Program("nbody", "pinned", 160, 16, 4),
    "matrices": Program("gesummv", "pinned", 400, 0.1, 3),
}


def compiled(folder: Path) -> Path:
    """The programs' file."""
    made = folder / "ordered"
    compile_with_nvcc("-O2", "-arch=native", "-I", str(SUITE), "-o", str(made), str(SOURCE))
    return made


@contextmanager
def sharing(way: str, folder: Path) -> Iterator[tuple[list[str], dict[str, str] | None]]:
    """The beginning of each program's command in this way, and its environment.

    Ways are ``slices``, ``mps``, and an ordering with or without ``mps+`` before it.
    """
    if way == "mps":
        with mps_daemon() as variables:
            yield [], {**os.environ, **variables}
    elif way == "slices":
        yield [], None
    else:
        ordering = way.removeprefix("mps+")
        with server_for("fifo", folder, has_mps=ordering != way, ordering=ordering) as run:
            yield run, None


def permutations(count: int) -> list[list[str]]:
    """Orders in which the programs get to work, the same in every run."""
    draw = random.Random(2016)
    return [draw.sample(list(PROGRAMS), len(PROGRAMS)) for _ in range(count)]


def alone(programs: dict[str, Answering]) -> dict[str, dict[str, float]]:
    """Times of each program's parts, while the others wait for input; the shortest of some rounds."""
    found = {}
    for name, program in programs.items():
        rounds = [program.ask("alone") for _ in range(ROUNDS_ALONE)]
        found[name] = {part: min(each[part] for each in rounds) for part in PARTS}
    return found


def together(programs: dict[str, Answering], order: Sequence[str], gap_s: float) -> dict[str, Any]:
    """The total time of all programs in this order, and their results."""
    for name in order:
        programs[name].send("go")
        time.sleep(gap_s)
    answers = {name: programs[name].read() for name in order}
    begin = min(each["begin_ns"] for each in answers.values())
    return {
        "order": list(order),
        "total_ns": max(each["end_ns"] for each in answers.values()) - begin,
        "begins_ns": {name: each["begin_ns"] - begin for name, each in answers.items()},
        "ends_ns": {name: each["end_ns"] - begin for name, each in answers.items()},
        "checksums": {name: each["checksum"] for name, each in answers.items()},
    }


def measure(way: str, chosen: argparse.Namespace, file: Path, kept: dict[str, Any]) -> None:
    """Makes the measurements of one way that are missing."""
    found = kept["ways"].setdefault(way, {"alone": {}, "runs": []})
    missing = permutations(chosen.permutations)[len(found["runs"]) :]
    if not missing:
        return
    with ExitStack() as ends:
        folder = Path(ends.enter_context(tempfile.TemporaryDirectory(prefix="gpushare-benchmark-", dir="/tmp")))
        prefix, variables = ends.enter_context(sharing(way, folder))
        programs = {}
        for name, each in PROGRAMS.items():
            named = [*prefix, "--name", name, "--"] if prefix else []
            programs[name] = answering(ends, [*named, str(file), *each.arguments], variables)
        for program in programs.values():
            program.read()
        found["alone"] = alone(programs)
        together(programs, list(PROGRAMS), chosen.gap_ms / 1e3)
        for order in missing:
            found["runs"].append(together(programs, order, chosen.gap_ms / 1e3))
            write(chosen.json, kept)


def model(parts: dict[str, dict[str, float]], run: dict[str, Any]) -> gs.Workload:
    """The programs as a model has them: a copy, a launch that fills all SMs, and a copy."""
    applications = []
    for name in run["order"]:
        times = {part: max(1, round(ns)) for part, ns in parts[name].items()}
        kernel = gs.KernelModel(name, threads=1024, latency_ns=times["kernels_ns"])
        operations = (
            gs.Copy("to_device", times["to_device_ns"]),
            gs.Launch(kernel, 1),
            gs.Copy("to_host", times["to_host_ns"]),
        )
        applications.append(gs.Application(name, operations, arrival_ns=round(run["begins_ns"][name])))
    return gs.Workload(f"{len(applications)} programs", tuple(applications))


def engines() -> _core.Device:
    """A device of one SM and two copy engines."""
    device = _core.program_device("engines")
    copies = _core.CopyEngine(bandwidth_bytes_per_s=ENGINE_BYTES_PER_S)
    return _core.Device(
        name=device.name,
        sms=1,
        clock_hz=device.clock_hz,
        per_sm=device.per_sm,
        granularity=device.granularity,
        off_sm=_core.OffSmBandwidth(),
        to_device=copies,
        to_host=copies,
        delays=_core.CommandDelays(),
    )


def predicted_ns(way: str, found: dict[str, Any]) -> list[float] | None:
    """The total time of each permutation, as the model has it; None where nothing is ordered."""
    if way in ("mps", "slices"):
        return None
    policy = f"{way.removeprefix('mps+')}+fifo"
    device = engines()
    totals = []
    for run in found["runs"]:
        result = gs.compare(model(found["alone"], run), [policy], device=device, progress=False)
        totals.append(float(result.metrics()["makespan_ns"].iloc[0]))
    return totals


def report(kept: dict[str, Any]) -> None:
    """Prints ratios of total times in the same permutation, predictions, and whether all results are equal."""
    ways = {way: found for way, found in kept["ways"].items() if found["runs"]}
    if not ways:
        return
    first = next(iter(ways))
    for way, found in ways.items():
        totals = [run["total_ns"] for run in found["runs"]]
        pairs = zip(ways[first]["runs"], found["runs"], strict=False)
        ratios = [own["total_ns"] / other["total_ns"] for other, own in pairs]
        line = f"{way:28} total {statistics.median(totals) / 1e6:8.2f} ms ({min(totals) / 1e6:.2f} to "
        line += f"{max(totals) / 1e6:.2f}); of {first}: {statistics.median(ratios):.3f} "
        line += f"({min(ratios):.3f} to {max(ratios):.3f})"
        if predicted := predicted_ns(way, found):
            errors = [expected / total - 1 for expected, total in zip(predicted, totals, strict=True)]
            worst = max(errors, key=abs)
            line += f"; predicted {statistics.median(predicted) / 1e6:.2f} ms, off by {statistics.median(errors):+.1%}"
            line += f" ({worst:+.1%} at worst)"
        print(line)
    sums = {json.dumps(run["checksums"], sort_keys=True) for found in ways.values() for run in found["runs"]}
    print("all results are equal" if len(sums) == 1 else f"RESULTS DIFFER: {len(sums)} sets of checksums")


def main() -> None:
    """Makes the measurements that the file does not have yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ways", default="mps,mps+strings,mps+cumas:window=12", help="The first one is compared with.")
    parser.add_argument("--permutations", type=int, default=25)
    parser.add_argument("--gap-ms", type=float, default=0.2, help="Between two programs that get to work.")
    parser.add_argument("--json", type=Path, required=True)
    chosen = parser.parse_args()
    kept = json.loads(chosen.json.read_text()) if chosen.json.exists() else {"ways": {}}
    with tempfile.TemporaryDirectory(prefix="gpushare-benchmark-") as made:
        file = compiled(Path(made))
        for way in chosen.ways.split(","):
            began = time.monotonic()
            measure(way, chosen, file, kept)
            print(f"{way}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    report(kept)


if __name__ == "__main__":
    main()
