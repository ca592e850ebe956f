# SPDX-License-Identifier: Apache-2.0
"""Programs side by side: speeds and latencies relative to those alone, in each way to share the GPU.

    python -m benchmarks.programs.sharing --loads light,busy --ways slices,mps,run:auto --json sharing.json

Ways are ``slices``, ``mps``, ``mps:priorities``, ``mps:70/30`` (percentages of the threads, in the order of a load's
programs; for loads of so many programs), ``run:POLICY`` and, with an MPS of the server, ``mps+run:POLICY``.

Programs are started once per way, and work in windows of a few seconds; the programs of other ways wait meanwhile. Each
round measures every program alone, without gpushare, and then all ways; arrivals of requests are the same for all of
them. Measurements in the file are not repeated, and none is begun after ``--seconds``. There is one MPS at a time: ways
that need another one are measured later, beside baselines of their own. A way whose programs fail is reported and left
out.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.gpu.mps import mps_daemon
from benchmarks.programs.orderings import compiled
from benchmarks.programs.running import TRAINING, Answering, ProgramFailedError, server_for, write

START_S = 150.0
"""Longest time until a program is ready."""
MORE_S = 30.0
"""Longest time of an answer beyond its window."""
MOST_CLIENTS = 12
"""Of one MPS: more have not been tried."""
SERVING = (sys.executable, "-m", "benchmarks.programs.serving", "--requests")
ORDERED = "ordered"
"""The file that nvcc makes of ordered.cu."""
PERCENTILES = (50, 99)


@dataclass(frozen=True)
class Program:
    """A program of a load.

    Attributes:
        command: its command line.
        priority: its priority under ``gpushare run``; with a positive one it is urgent for MPS.
    """

    command: tuple[str, ...]
    priority: int = 0


PROGRAMS = {
    "small": Program((*TRAINING, "--size", "small")),
    "large": Program((*TRAINING, "--size", "large")),
    "serving": Program((*SERVING, "--graph"), priority=10),
    "serving_eager": Program(SERVING, priority=10),
    "bodies": Program((ORDERED, "nbody", "pinned", "16", "16", "3")),
    "triads": Program((ORDERED, "triad", "pinned", "100", "50", "100")),
}
LOADS = {
    "light": ("small", "serving"),
    "busy": ("large", "serving"),
    "busy_eager": ("large", "serving_eager"),
    "trainings": ("large", "small"),
    "training_hpc": ("large", "triads"),
    "inference_hpc": ("serving", "bodies"),
    "four": ("large", "serving", "bodies", "triads"),
}


class Instance(NamedTuple):
    """A program as a way has it.

    Attributes:
        place: what the program joins: ``slices``, ``mps``, or a way with a server.
        program: key of :data:`PROGRAMS`.
        variables: of its environment.
    """

    place: str
    program: str
    variables: tuple[tuple[str, str], ...] = ()


Results = dict[str, dict[str, Any]]
"""A window's result by program."""


def instances(way: str, load: str) -> list[Instance]:
    """The programs of a load in this way."""
    kind, _, choice = way.partition(":")
    if kind != "mps":
        return [Instance(way, program) for program in LOADS[load]]
    found = []
    for position, program in enumerate(LOADS[load]):
        variables: tuple[tuple[str, str], ...] = ()
        if choice == "priorities":
            variables = (("CUDA_MPS_CLIENT_PRIORITY", "0" if PROGRAMS[program].priority > 0 else "1"),)
        elif choice and (percentage := choice.split("/")[position]) != "100":
            variables = (("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", percentage),)
        found.append(Instance(kind, program, variables))
    return found


def suits(way: str, load: str) -> bool:
    """Whether a way's percentages, if it has any, are as many as the load's programs."""
    return "/" not in way or len(way.split("/")) == len(LOADS[load])


def batches(ways: Sequence[str], loads: Sequence[str]) -> list[list[str]]:
    """The ways that are measured at the same time: those of one MPS, and as many of its clients as have been tried."""
    made: list[list[str]] = [[]]

    def clients(batch: Iterable[str]) -> set[Instance]:
        pairs = itertools.product(batch, loads)
        return {
            each for way, load in pairs if way.startswith("mps") and suits(way, load) for each in instances(way, load)
        }

    for way in ways:
        both = clients([*made[-1], way])
        is_new = way.startswith("mps") and (len({each.place for each in both}) > 1 or len(both) > MOST_CLIENTS)
        made += [[way]] if is_new else []
        if not is_new:
            made[-1].append(way)
    return [batch for batch in made if batch]


@contextmanager
def place(name: str, folder: Path) -> Iterator[tuple[list[str], dict[str, str]]]:
    """The beginning of the commands of programs that share in this way, and their environment."""
    if name == "slices":
        yield [], {}
        return
    if name == "mps":
        with mps_daemon() as environment:
            yield [], environment
        return
    kind, _, policy = name.partition(":")
    folder.mkdir()
    with server_for(policy, folder, has_mps=kind == "mps+run") as run:
        yield run, {}


class Running:
    """The programs of some ways, which all wait for their windows.

    Args:
        wanted: the programs.
        folder: for servers.
        chosen: the command line's options.
    """

    def __init__(self, wanted: Iterable[Instance], folder: Path, chosen: argparse.Namespace) -> None:
        self._stack = ExitStack()
        self._found: dict[Instance, Answering] = {}
        self._folder, self._chosen = folder, chosen
        try:
            self._start(list(wanted))
        except BaseException:
            self._stack.close()
            raise

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_: object) -> None:
        with ThreadPoolExecutor(max(len(self._found), 1)) as pool:
            list(pool.map(Answering.close, self._found.values()))
        self._stack.close()

    def has(self, wanted: Iterable[Instance]) -> bool:
        """Whether all of these are there."""
        return all(each in self._found for each in wanted)

    def window(self, together: Sequence[Instance], seconds: float, number: int) -> Results:
        """Lets these programs work at the same time for so long.

        Raises:
            ProgramFailedError: one has failed; none of them is there any more.
        """
        if not self.has(together):
            raise ProgramFailedError(f"{together[0].program} did not start")
        programs = [self._found[each] for each in together]
        try:
            for program in programs:
                program.send(f"seconds {seconds:g} {number}")
            answers = [program.read(seconds + MORE_S) for program in programs]
        except (ProgramFailedError, BrokenPipeError) as error:
            for each in together:
                self._found.pop(each).kill()
            raise ProgramFailedError(str(error)) from error
        return {each.program: kept(answer) for each, answer in zip(together, answers, strict=True)}

    def _start(self, wanted: list[Instance]) -> None:
        places: dict[str, tuple[list[str], dict[str, str]]] = {}
        for number, name in enumerate(dict.fromkeys(each.place for each in wanted)):
            try:
                places[name] = self._stack.enter_context(place(name, self._folder / str(number)))
            except (ProgramFailedError, OSError) as error:
                print(f"{name}: {error}", flush=True)
        with ThreadPoolExecutor(len(wanted)) as pool:
            started: dict[Instance, Future[Answering]] = {
                each: pool.submit(self._started, each, *places[each.place]) for each in wanted if each.place in places
            }
        for each, future in started.items():
            try:
                self._found[each] = future.result()
            except ProgramFailedError as error:
                print(f"{each.place}, {each.program}: {error}", flush=True)

    def _started(self, each: Instance, prefix: list[str], variables: Mapping[str, str]) -> Answering:
        program = PROGRAMS[each.program]
        options = ["--name", each.program, "--priority", str(program.priority), "--"] if prefix else []
        command = [str(self._chosen.ordered) if word == ORDERED else word for word in program.command]
        if each.program.startswith("serving"):
            command += ["--rate", str(self._chosen.rate)]
            command += ["--trace", str(self._chosen.trace)] if self._chosen.trace else []
        made = Answering([*prefix, *options, *command], {**os.environ, **variables, **dict(each.variables)})
        try:
            made.read(START_S)
        except ProgramFailedError:
            made.kill()
            raise
        return made


def kept(answer: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept of a program's answer: latencies, or how often a second it has done its work."""
    if "request_s" in answer:
        return dict(answer)
    moments = answer.get("moments", ())
    if len(moments) > 1:  # from one wait for the GPU to another one, so that no part of a step counts as one
        steps_between = answer["steps"] // len(moments)
        return {"per_s": steps_between * (len(moments) - 1) / (moments[-1] - moments[0])}
    return {"per_s": answer.get("steps", answer.get("runs", 0)) / answer["seconds"]}


def measure(
    batch: Sequence[str], chosen: argparse.Namespace, found: dict[str, Any], folder: Path, ends_s: float
) -> None:
    """Makes the measurements of these ways that are missing, up to this moment on the monotonic clock."""
    pairs = [(load, way) for load in chosen.loads for way in batch if suits(way, load)]
    done = {(unit["load"], way, unit["round"]) for unit in found["units"] for way in unit["ways"]}
    rounds = range(chosen.rounds)
    if time.monotonic() > ends_s or all((*pair, number) in done for pair in pairs for number in rounds):
        return
    alone = {program: Instance("slices", program) for load in chosen.loads for program in LOADS[load]}
    wanted = [*alone.values(), *(each for load, way in pairs for each in instances(way, load))]
    began = time.monotonic()
    with Running(dict.fromkeys(wanted), folder, chosen) as running:
        print(f"{', '.join(batch)}: started within {time.monotonic() - began:.0f} s", flush=True)
        for load, way in pairs:
            attempted(running, way, load, chosen.warm_up, 0)
        for number in rounds:
            baseline: Results = {}
            for load in chosen.loads:
                there = [way for way in batch if suits(way, load) and running.has(instances(way, load))]
                missing = [way for way in there if (load, way, number) not in done]
                if not missing or time.monotonic() > ends_s:
                    continue
                try:
                    for program in LOADS[load]:
                        if program not in baseline:
                            baseline |= running.window([alone[program]], chosen.window, number)
                except ProgramFailedError as error:
                    print(f"{load}, alone: {error}", flush=True)
                    continue
                unit: dict[str, Any] = {"load": load, "round": number, "ways": {}}
                unit["alone"] = {program: baseline[program] for program in LOADS[load]}
                found["units"].append(unit)
                for way in missing:
                    if time.monotonic() > ends_s:
                        break
                    if (result := attempted(running, way, load, chosen.window, number)) is not None:
                        unit["ways"][way] = result
                        write(chosen.json, found)


def attempted(running: Running, way: str, load: str, seconds: float, number: int) -> Results | None:
    """A window of all programs of a load, unless one has failed before, or does so now."""
    together = instances(way, load)
    if not running.has(together):
        return None
    try:
        return running.window(together, seconds, number)
    except ProgramFailedError as error:
        print(f"{load}, {way}: {error}", flush=True)
        return None


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


def options() -> argparse.Namespace:
    """The command line's."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--loads", default="light,busy,trainings", help=f"Of {', '.join(LOADS)}.")
    parser.add_argument("--ways", default="slices,mps,mps:priorities,run:auto,mps+run:auto")
    parser.add_argument("--rate", type=float, default=20.0, help="Requests a second.")
    parser.add_argument("--window", type=float, default=5.0, help="Seconds of each measurement.")
    parser.add_argument("--warm-up", type=float, default=0.7, help="Seconds of each way and load before the first one.")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="No measurement is begun after these.")
    parser.add_argument("--trace", type=Path, help="Arrivals of requests; else a Poisson process.")
    parser.add_argument("--json", type=Path, required=True)
    chosen = parser.parse_args()
    chosen.loads, chosen.ways = chosen.loads.split(","), chosen.ways.split(",")
    if unknown := [load for load in chosen.loads if load not in LOADS]:
        parser.error(f"no load {unknown[0]!r}; there are {', '.join(LOADS)}")
    kinds = ("slices", "mps", "run", "mps+run")
    if unknown := [way for way in chosen.ways if way.partition(":")[0] not in kinds]:
        parser.error(
            f"no way {unknown[0]!r}; ways are slices, mps, mps:priorities, mps:N/N, run:POLICY, mps+run:POLICY"
        )
    return chosen


def main() -> None:
    """Makes the measurements that the file does not have yet, and prints the table of all."""
    began_s = time.monotonic()
    chosen = options()
    found = json.loads(chosen.json.read_text()) if chosen.json.exists() else {"units": []}
    parts = batches(chosen.ways, chosen.loads)
    with tempfile.TemporaryDirectory(prefix="gpushare-benchmark-", dir="/tmp") as made:  # MPS: short
        if any(ORDERED in PROGRAMS[program].command for load in chosen.loads for program in LOADS[load]):
            chosen.ordered = compiled(Path(made))
        for number, batch in enumerate(parts):
            rest_s = began_s + chosen.seconds - time.monotonic()
            part = (len(batch) + 1) / sum(len(each) + 1 for each in parts[number:])  # each batch repeats the baseline
            folder = Path(made) / str(number)
            folder.mkdir()
            measure(batch, chosen, found, folder, time.monotonic() + rest_s * part)
    write(chosen.json, found)
    report(found)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    main()
