# SPDX-License-Identifier: Apache-2.0
"""Whether an nvcc binary under ``gpushare run --workers`` computes the same bytes, held at random and scheduled.

    python -m benchmarks.programs.workers --json workers.json

Compiles workers.cu, holds it at random until its kernels have been evicted often enough, and then runs it as long in
the other ways: alone, with a page but without workers, with workers and no hold, and beside another one of its kind
under a server. Of the ways without holds it keeps each kernel's time, the median of several turns.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.programs.running import (
    Answering,
    answering,
    compile_with_nvcc,
    page_without_server,
    server_for,
    write,
)

from gpushare import _core

SOURCE = Path(__file__).with_suffix(".cu")
HOLD_S, GO_S = (0.0001, 0.0008), (0.0001, 0.002)
ROUNDS = 20
"""Of all kernels between two answers."""
PATIENCE_S = 0.02
"""A held program whose streams have not stopped by then has no kernel under way that can be evicted."""


def compiled(folder: Path, capability: str) -> str:
    """The program, with PTX for this architecture beside its machine code."""
    code = f"-gencode=arch=compute_{capability},code=[sm_{capability},compute_{capability}]"
    program = str(folder / "workers")
    compile_with_nvcc("-O3", code, "-o", program, str(SOURCE))
    return program


def capability_here() -> str:
    """Of the first GPU: 90 for 9.0."""
    asked = ["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"]
    return subprocess.check_output(asked, text=True).splitlines()[0].replace(".", "")


class Holds:
    """Holds and releases a program at random moments.

    Attributes:
        count: number of holds.
        stop_us: times from a hold to the first stream that has stopped, in microseconds.
    """

    def __init__(self, page: _core.ProgramPage) -> None:
        self._page = page
        self._draw = random.Random(7)
        self.count = 0
        self.stop_us: list[float] = []

    def one(self) -> None:
        """One hold, and a time without one."""
        began_s = time.perf_counter()
        self._page.hold_program()
        while not (stopped := self._page.stopped_streams) and time.perf_counter() - began_s < PATIENCE_S:
            pass
        if stopped:
            self.stop_us.append((time.perf_counter() - began_s) * 1e6)
        time.sleep(self._draw.uniform(*HOLD_S))
        self._page.free_program()
        time.sleep(self._draw.uniform(*GO_S))
        self.count += 1


def held_at_random(program: str, evictions: int, longest_s: float) -> dict[str, Any]:
    """Runs rounds until there were so many evictions; how many rounds, and the result."""
    ends_s = time.monotonic() + longest_s
    with ExitStack() as ends:
        page, variables = ends.enter_context(page_without_server(makes_workers=True))
        running = answering(ends, [program], variables)
        running.read()
        running.ask("rounds 5")  # times of launches become known
        holds, rounds, found = Holds(page), 5, {}
        while page.totals().evictions < evictions and time.monotonic() < ends_s:
            running.send(f"rounds {ROUNDS}")
            answer = Reading(running)
            while not answer.is_there():
                holds.one()
            found = answer.value()
            rounds += ROUNDS
        totals, reasons = page.totals(), page.whole_reasons()
    in_order = sorted(holds.stop_us) or [0.0]
    return {
        "hash": found.get("hash"),
        "error": found.get("error"),
        "rounds": rounds,
        "holds": holds.count,
        "evictions": totals.evictions,
        "launches": totals.launches,
        "worker_launches": totals.worker_launches,
        "let_go": totals.let_go,
        "whole_reasons": reasons,
        "stop_us": {
            "median": statistics.median(in_order),
            "p99": in_order[len(in_order) * 99 // 100],
            "longest": in_order[-1],
        },
    }


class Reading:
    """A line that a program has yet to print."""

    def __init__(self, program: Answering) -> None:
        self._found: dict[str, Any] = {}
        self._thread = threading.Thread(target=lambda: self._found.update(program.read()))
        self._thread.start()

    def is_there(self) -> bool:
        """Whether it has been printed, or the program has ended."""
        return not self._thread.is_alive()

    def value(self) -> dict[str, Any]:
        """The line."""
        self._thread.join()
        return self._found


def in_turns(ways: dict[str, Answering], rounds: int) -> dict[str, Any]:
    """The programs one after the other, again and again: hashes, and times of kernels by way."""
    times: dict[str, list[dict[str, float]]] = {way: [] for way in ways}
    last: dict[str, dict[str, Any]] = {}
    for program in ways.values():
        program.read()
        program.ask("rounds 5")
    for _ in range((rounds - 5) // ROUNDS):
        for way, program in ways.items():
            last[way] = program.ask(f"rounds {ROUNDS}")
            times[way].append(last[way]["ms"])

    def middle(way: str, kernel: str) -> float:
        return statistics.median(each[kernel] for each in times[way])

    return {
        way: {
            "hash": last[way]["hash"],
            "error": last[way]["error"],
            "ms": {kernel: middle(way, kernel) for kernel in last[way]["ms"]},
            "ratios": {kernel: middle(way, kernel) / middle("alone", kernel) for kernel in last[way]["ms"]},
        }
        for way in ways
    }


def without_holds(program: str, rounds: int) -> dict[str, Any]:
    """Alone, with a page, and with workers."""
    with ExitStack() as ends:
        ways = {"alone": answering(ends, [program])}
        pages = {}
        for way, makes_workers in (("page", False), ("workers", True)):
            pages[way], variables = ends.enter_context(page_without_server(makes_workers=makes_workers))
            ways[way] = answering(ends, [program], variables)
        found = in_turns(ways, rounds)
        found["workers"]["worker_launches"] = pages["workers"].totals().worker_launches
        found["workers"]["evictions"] = pages["workers"].totals().evictions
    return found


def scheduled(program: str, rounds: int, policy: str, folder: Path) -> list[dict[str, Any]]:
    """Two of them at a server, at the same time."""
    reports = [folder / f"report{number}.json" for number in range(2)]
    with ExitStack() as ends:
        run = ends.enter_context(server_for(policy, folder))
        both = [
            answering(ends, [*run, "--workers", "--name", f"p{number}", "--report-file", str(report), "--", program])
            for number, report in enumerate(reports)
        ]
        for each in both:
            each.read()
            each.send("rounds 5")
            each.send(f"rounds {rounds - 5}")
        hashes = [[each.read(), each.read()][1]["hash"] for each in both]
    told = ("launches", "worker_launches", "evictions", "held_s", "let_go", "whole_reasons")
    found = [json.loads(report.read_text()) for report in reports]  # written when the programs have ended
    return [{"hash": one} | {name: each[name] for name in told} for one, each in zip(hashes, found, strict=True)]


def main() -> None:
    """Measures, and compares the hashes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", help="workers.cu as compiled before; without it, nvcc compiles it.")
    parser.add_argument("--capability", help="As nvcc has it, such as 90; without it, that of the first GPU.")
    parser.add_argument("--evictions", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=120, help="Longest time of holds.")
    parser.add_argument("--policy", default="round-robin", help="Of the server.")
    parser.add_argument("--json", type=Path, required=True)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gpushare-benchmark-") as made:
        folder = Path(made)
        program = chosen.program or compiled(folder, chosen.capability or capability_here())
        found: dict[str, Any] = {"held": held_at_random(program, chosen.evictions, chosen.seconds)}
        write(chosen.json, found)
        found |= without_holds(program, found["held"]["rounds"])
        write(chosen.json, found)
        found["scheduled"] = scheduled(program, found["held"]["rounds"], chosen.policy, folder)
    results = [found[way] for way in ("held", "alone", "page", "workers")] + found["scheduled"]
    found["are_equal"] = len({each["hash"] for each in results}) == 1
    write(chosen.json, found)
    print(json.dumps(found), flush=True)
    if not found["are_equal"]:
        raise SystemExit("the results have different bytes")


if __name__ == "__main__":
    main()
