# SPDX-License-Identifier: Apache-2.0
"""Many programs at once under ``gpushare run``, some of which are killed at random moments and started again.

    python -m benchmarks.programs.soak --programs 24 --seconds 120 --json soak.json

A third of them are never killed: they train deterministically, and their weights are compared with those after as many
steps alone. For each kill it is measured how long it takes until any of them has ended a step, which is how long the
GPU may have stood still; and how long the pauses of each are, near a kill and otherwise, as many programs make all of
them wait. At the end, the memory of the killed ones has to be free.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import statistics
import tempfile
import time
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from benchmarks.programs.kills import pauses, settled_mib, used_mib
from benchmarks.programs.running import TRAINING, Answering, ProgramFailedError, answering, server_for, write

STAYING = (*TRAINING, "--every", "1", "--deterministic")
BETWEEN_S = (0.5, 2.5)
"""Between two kills."""
EVER_S = 3600
FIRST = "steps 20"
"""Before the others are there, so that code is loaded and memory allocated."""


class Victims:
    """Programs that train until they are killed, and are followed by others.

    Args:
        command: the beginning of their command line.
        count: how many there are at a time, with those that have not come up yet.
        draw: chooses among them.
    """

    def __init__(self, command: list[str], count: int, draw: random.Random) -> None:
        self._command, self._draw = [*command, *TRAINING], draw
        self._pool = ThreadPoolExecutor(count)
        self._coming: list[Future[tuple[Answering, int]]] = [self._pool.submit(self._start) for _ in range(count)]
        self.kills: list[float] = []
        self.exit_codes: list[int] = []
        self.most_at_once = 0

    def wait(self) -> None:
        """Waits until all of them train."""
        wait(self._coming)

    def kill_one(self) -> None:
        """Kills one that trains, if there is one, and starts another one."""
        ready = [each for each in self._coming if each.done()]
        self.most_at_once = max(self.most_at_once, len(ready))
        if ready:
            self._end(self._draw.choice(ready))
            self._coming.append(self._pool.submit(self._start))

    def close(self) -> None:
        """Kills all of them."""
        self.wait()
        for each in list(self._coming):
            with suppress(ProgramFailedError):  # it had not started
                self._end(each)
        self._pool.shutdown()

    def _end(self, each: Future[tuple[Answering, int]]) -> None:
        self._coming.remove(each)
        victim, pid = each.result()
        self.kills.append(time.monotonic())
        os.kill(pid, signal.SIGKILL)
        self.exit_codes.append(victim.process.wait(60))
        victim.close()

    def _start(self) -> tuple[Answering, int]:
        victim = Answering(self._command)
        pid = int(victim.read()["pid"])
        victim.send(f"seconds {EVER_S}")
        return victim, pid


def together(command: list[str], chosen: argparse.Namespace) -> dict[str, Any]:
    """All programs for some time, and kills."""
    draw = random.Random(24)
    with ExitStack() as ends:
        count = chosen.programs // 3
        with ThreadPoolExecutor(count) as pool:
            staying = list(pool.map(lambda _: ready(command), range(count)))
        for each in staying:
            ends.callback(each.close)
            each.ask(FIRST)
        before = used_mib()
        victims = Victims(command, chosen.programs - count, draw)
        try:
            victims.wait()
            with_victims, began = used_mib(), time.monotonic()
            for each in staying:
                each.send(f"seconds {chosen.seconds}")
            while time.monotonic() < began + chosen.seconds - BETWEEN_S[1]:
                time.sleep(draw.uniform(*BETWEEN_S))
                victims.kill_one()
            kills = list(victims.kills)
            answers = [each.read() for each in staying]
        finally:
            victims.close()
        return {
            "programs": chosen.programs,
            "seconds": chosen.seconds,
            "kills": len(kills),
            "killed_at_the_end": len(victims.kills) - len(kills),
            "victims_that_trained": victims.most_at_once,
            "exit_codes": sorted(set(victims.exit_codes)),
            "mib": {"before": before, "with_victims": with_victims, "after": settled_mib(before)},
            **found_pauses([each["moments"] for each in answers], kills),
            "trained": [{name: each[name] for name in ("steps", "weights")} for each in answers],
        }


def ready(command: list[str]) -> Answering:
    """A training that stays, when it is ready."""
    made = Answering([*command, *STAYING])
    made.read()
    return made


def found_pauses(moments: list[list[float]], kills: list[float]) -> dict[str, Any]:
    """Milliseconds: from each kill to the next end of a step of any program, and between two ends of the same one."""
    every = sorted(moment for each in moments for moment in each)
    until = [1e3 * (next((moment for moment in every if moment > kill), float("inf")) - kill) for kill in kills]
    near = [pauses(each, kills) for each in moments]
    own = {
        "after_a_kill": [1e3 * pause["s"] for after, _ in near for pause in after],
        "otherwise": [1e3 * pause for _, rest in near for pause in rest],
    }
    return {"until_a_step_ms": spread(until)} | {f"{name}_ms": spread(values) for name, values in own.items()}


def spread(values: list[float]) -> dict[str, float]:
    """The middle, the 99th percentile and the largest."""
    if not values:
        return {}
    return {"median": statistics.median(values), "p99": sorted(values)[len(values) * 99 // 100], "longest": max(values)}


def weights_alone(steps: list[int]) -> dict[int, str]:
    """The weights after these numbers of steps without gpushare, behind those that all programs make first."""
    with ExitStack() as ends:
        training = answering(ends, list(STAYING))
        training.read()
        training.ask(FIRST)
        found, done = {}, 0
        for each in sorted(set(steps)):
            found[each] = str(training.ask(f"steps {each - done}")["weights"])
            done = each
    return found


def main() -> None:
    """Measures, and compares the weights."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=24)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--policy", default="auto", help="Of the server.")
    parser.add_argument("--json", type=Path, required=True)
    chosen = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="gpushare-benchmark-") as made,
        server_for(chosen.policy, Path(made)) as run,
    ):
        found = {"policy": chosen.policy, **together([*run, "--"], chosen)}
    write(chosen.json, found)
    alone = weights_alone([each["steps"] for each in found["trained"]])
    found["are_equal"] = all(alone[each["steps"]] == each["weights"] for each in found["trained"])
    write(chosen.json, found)
    for name, value in found.items():
        print(f"{name:22} {value}", flush=True)
    if not found["are_equal"]:
        raise SystemExit("the weights differ from those alone")


if __name__ == "__main__":
    main()
