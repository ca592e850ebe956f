# SPDX-License-Identifier: Apache-2.0
"""Training beside inference, or beside training: speeds relative to those alone, in each way to share the GPU.

    python -m benchmarks.programs.sharing --loads light,busy --ways slices,mps,run --json sharing.json

Measurements in the file are not repeated; each round measures the programs alone as well.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.gpu.mps import mps_daemon
from benchmarks.programs.running import server_for

LONGEST_S = 400
POLICIES = ("effisha-static", "auto", "fair")


@dataclass(frozen=True)
class Program:
    """A program of a load.

    Attributes:
        name: its name.
        arguments: arguments of its module.
        priority: its priority under ``gpushare run``.
    """

    name: str
    arguments: tuple[str, ...]
    priority: int = 0

    def command(self, seconds: float, start: Path, trace: Path | None) -> list[str]:
        """Its command line."""
        module, *rest = self.arguments
        more = ["--start", str(start), "--name", self.name]
        if module == "training":
            more += ["--seconds", str(seconds)]
        elif trace is not None:
            more += ["--trace", str(trace)]
        return [sys.executable, "-m", f"benchmarks.programs.{module}", *rest, *more]


def served(requests: int, rate: float, *extra: str) -> Program:
    """Inference, more urgent than training."""
    return Program("serving", ("serving", "--requests", str(requests), "--rate", str(rate), *extra), priority=10)


def loads(requests: int, rate: float) -> dict[str, list[Program]]:
    """The loads by name."""
    return {
        "light": [Program("training", ("training", "--size", "small")), served(requests, rate)],
        "busy": [Program("training", ("training", "--size", "large")), served(requests, rate)],
        "busy_graph": [Program("training", ("training", "--size", "large")), served(requests, rate, "--graph")],
        "trainings": [
            Program("training", ("training", "--size", "large")),
            Program("training_2", ("training", "--size", "small")),
        ],
    }


def measured(programs: list[Program], way: str, seconds: float, trace: Path | None) -> list[dict[str, Any]]:
    """The output of each program, when they run together in this way."""
    with (
        tempfile.TemporaryDirectory(prefix="gpushare-benchmark-") as made,
        sharing(way, Path(made)) as (prefix_of, more),
    ):
        start = Path(made)
        running = []
        for program in programs:
            command = [*prefix_of(program), *program.command(seconds, start, trace)]
            running.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **more}))
        ends_s = time.monotonic() + LONGEST_S
        while len(list(start.glob("*.ready"))) < len(programs):
            if time.monotonic() > ends_s or any(each.poll() is not None for each in running):
                for each in running:
                    each.kill()
                raise SystemExit(f"{way}: a program ended before it was ready")
            time.sleep(0.01)
        (start / "go").touch()
        return [json.loads(each.communicate(timeout=LONGEST_S)[0].splitlines()[-1]) for each in running]


@contextmanager
def sharing(way: str, folder: Path) -> Iterator[tuple[Callable[[Program], list[str]], dict[str, str]]]:
    """The prefix of each program's command in this way, and its environment.

    Ways are ``slices``, ``mps``, ``run:POLICY`` and, with an MPS of the server, ``mps+run:POLICY``.
    """
    if way == "mps":
        with mps_daemon() as environment:
            yield lambda _: [], environment
        return
    if way == "slices":
        yield lambda _: [], {}
        return
    kind, _, policy = way.partition(":")
    with server_for(policy or POLICIES[0], folder, has_mps=kind == "mps+run") as run:
        yield lambda each: [*run, "--name", each.name, "--priority", str(each.priority), "--"], {}


def rates(result: dict[str, Any]) -> dict[str, float]:
    """The values to compare: steps per second, or latencies."""
    if "steps_per_s" in result:
        return {"steps_per_s": result["steps_per_s"]}
    return {f"{part}.{name}": value for part in ("first_token", "token") for name, value in result[part].items()}


def ratios(shared: dict[str, Any], alone: dict[str, Any]) -> dict[str, float]:
    """Ratios to the values alone."""
    before = rates(alone)
    return {name: value / before[name] for name, value in rates(shared).items()}


def main() -> None:
    """Makes the measurements that the file does not have yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--loads", default="light,busy,trainings")
    parser.add_argument("--ways", default="slices,mps,run:effisha-static,mps+run:effisha-static")
    parser.add_argument("--requests", type=int, default=400)
    parser.add_argument("--rate", type=float, default=6.0, help="Requests a second.")
    parser.add_argument("--seconds", type=float, default=20.0, help="Of training.")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--trace", type=Path, help="Arrivals of requests; else a Poisson process.")
    parser.add_argument("--json", type=Path, required=True)
    chosen = parser.parse_args()
    kept = json.loads(chosen.json.read_text()) if chosen.json.exists() else {"rounds": []}
    for number in range(chosen.rounds):
        for load in chosen.loads.split(","):
            one_round(kept, number, load, chosen)
    report(kept)


def one_round(kept: dict[str, Any], number: int, load: str, chosen: argparse.Namespace) -> None:
    """Runs each program alone, and then all of them in every way."""
    programs = loads(chosen.requests, chosen.rate)[load]
    if len(kept["rounds"]) <= number:
        kept["rounds"].append({})
    found = kept["rounds"][number].setdefault(load, {})
    runs = [(f"alone:{each.name}", [each], "slices") for each in programs]
    runs += [(way, programs, way) for way in chosen.ways.split(",")]
    for name, together, way in runs:
        if name not in found:
            found[name] = measured(together, way, chosen.seconds, chosen.trace)
            chosen.json.write_text(json.dumps(kept, indent=1))
            print(load, name, json.dumps(found[name]), flush=True)


def report(kept: dict[str, Any]) -> None:
    """Medians of the rounds' ratios to the values alone in the same round."""
    collected: dict[tuple[str, str, str, str], list[float]] = {}
    for each_round in kept["rounds"]:
        for load, found in each_round.items():
            alone = {results[0]["program"]: results[0] for name, results in found.items() if name.startswith("alone:")}
            for way, results in found.items():
                if way.startswith("alone:"):
                    continue
                for result in results:
                    for name, ratio in ratios(result, alone[result["program"]]).items():
                        collected.setdefault((load, way, result["program"], name), []).append(ratio)
    for (load, way, program, name), values in collected.items():
        spread = f" ({min(values):.3f} to {max(values):.3f})" if len(values) > 1 else ""
        print(f"{load:12} {way:28} {program:12} {name:22} {statistics.median(values):.3f}{spread}")


if __name__ == "__main__":
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    main()
