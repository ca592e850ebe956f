# SPDX-License-Identifier: Apache-2.0
"""What gpushare costs a program that has the GPU to itself.

    python -m benchmarks.programs.cost_alone --program small --json cost.json

Programs that are started in each way are all there from the beginning, and take turns: one works while the others
wait for input. So all ways are measured at the same temperature, in many rounds, without the time to start.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.programs.running import TRAINING, Answering, answering, page_without_server, server_for, write

POLICY = "effisha-static:queue_gets_leftover=yes"
WAYS = ("alone", "library", "page", "run", "beside")
"""Without gpushare; the library that passes calls on; with a page, but no server; ``gpushare run`` with a server; the
same with another program at the server that does nothing."""
NAP = ("sleep", "1000")


def started(way: str, command: list[str]) -> tuple[ExitStack, Answering]:
    """The program in one way, when it is ready, and what ends it."""
    stack = ExitStack()
    if way == "alone":
        program = answering(stack, command)
    elif way in ("library", "page"):
        _, variables = stack.enter_context(page_without_server())
        if way == "library":
            del variables["GPUSHARE_PROGRAM"]
        program = answering(stack, command, variables)
    else:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gpushare-benchmark-")))
        run = stack.enter_context(server_for(POLICY, folder))
        if way == "beside":
            idle = subprocess.Popen([*run, "--", *NAP])
            stack.callback(idle.wait)
            stack.callback(idle.terminate)
        program = answering(stack, [*run, "--name", "measured", "--", *command])
    program.read()
    return stack, program


def seconds(program: Answering, steps: int) -> float:
    """The time of this many steps, or of one launch, after some steps that fill the caches."""
    program.ask("steps 2")
    found = program.ask(f"steps {steps}")
    return found["ns"] / 1e9 if "ns" in found else found["seconds"]


def report(found: dict[str, list[list[float]]]) -> dict[str, Any]:
    """Per way: the median and the quartiles of ratios to alone in the same round, and each program's times."""
    return {way: compared(rounds, found["alone"]) for way, rounds in found.items()}


def compared(rounds: list[list[float]], alone: list[list[float]]) -> dict[str, Any]:
    """Times relative to those alone in the same round; means where a round has several programs."""
    ratios = [statistics.mean(each) / statistics.mean(before) for each, before in zip(rounds, alone, strict=True)]
    low, middle, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else 3 * ratios
    return {
        "ratio": middle,
        "quartiles": [low, high],
        "median_s": [statistics.median(times) for times in zip(*rounds, strict=True)],
        "fastest_tenth_s": [sorted(times)[len(times) // 10] for times in zip(*rounds, strict=True)],
    }


def measure(
    programs: list[tuple[str, Answering]], chosen: argparse.Namespace
) -> Iterable[dict[str, list[list[float]]]]:
    """The times so far, after each round; every other round goes through the programs in the opposite order."""
    found: dict[str, list[list[float]]] = {way: [] for way, _ in programs}
    for _, program in programs:
        seconds(program, chosen.steps)
    for number in range(chosen.rounds):
        for way in found:
            found[way].append([])
        for way, program in programs[:: 1 if number % 2 == 0 else -1]:
            found[way][-1].append(seconds(program, chosen.steps))
        for way in found:
            if number % 2:
                found[way][-1].reverse()
        yield found


def main() -> None:
    """Measures one program in all ways."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="small", help="A size of training, or the path of launches.cu's program.")
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--copies", type=int, default=2, help="Processes per way.")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--steps", type=int, default=8, help="Per round and program; of launches, batches.")
    parser.add_argument("--cores", help="The cores of all programs, such as 4,5: cores differ, and only one works.")
    parser.add_argument("--json", type=Path, required=True)
    chosen = parser.parse_args()
    is_file = os.path.sep in chosen.program
    command = [chosen.program] if is_file else [*TRAINING, "--size", chosen.program]
    if chosen.cores:
        command = ["taskset", "--cpu-list", chosen.cores, *command]
    ways = [way for _ in range(chosen.copies) for way in chosen.ways.split(",")]
    with ExitStack() as ends, ThreadPoolExecutor(len(ways)) as pool:
        programs = []
        for way, (stack, program) in zip(ways, pool.map(lambda way: started(way, command), ways), strict=True):
            ends.enter_context(stack)
            programs.append((way, program))
        for found in measure(programs, chosen):
            write(chosen.json, {"program": chosen.program, "steps": chosen.steps, "ways": report(found), "s": found})
    for way, each in report(found).items():
        low, high = each["quartiles"]
        print(f"{chosen.program:12} {way:8} {each['ratio']:.4f} ({low:.4f} to {high:.4f})", each["fastest_tenth_s"])


if __name__ == "__main__":
    main()
