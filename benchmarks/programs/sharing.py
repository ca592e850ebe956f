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
import json
import os
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.gpu.mps import mps_daemon
from benchmarks.programs.loads import LOADS, ORDERED, PROGRAMS, Instance, batches, instances, suits
from benchmarks.programs.orderings import compiled
from benchmarks.programs.running import Answering, ProgramFailedError, server_for, write
from benchmarks.programs.sharing_report import report

START_S = 150.0
"""Longest time until a program is ready."""
MORE_S = 30.0
"""Longest time of an answer beyond its window."""


Results = dict[str, dict[str, Any]]
"""A window's result by program."""


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
                for way in missing:
                    if time.monotonic() > ends_s:
                        break
                    if (result := attempted(running, way, load, chosen.window, number)) is not None:
                        if not unit["ways"]:
                            found["units"].append(unit)
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
