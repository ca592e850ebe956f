# SPDX-License-Identifier: Apache-2.0
"""Trainings that are killed at random moments beside two that go on: how long these pause, and which memory stays.

    python -m benchmarks.programs.kills --json kills.json

A victim trains while the other victims of its batch wait for their moment. The pauses of the two are those between
steps, and are compared with pauses without a kill.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import signal
import statistics
import subprocess
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.programs.running import TRAINING, Answering, answering, server_for, write

BATCH = 20
LIVES_S = (0.1, 0.5)
AFTER_S = 0.4
SURVIVOR = (*TRAINING, "--every", "1")


def used_mib() -> int:
    """Memory in use on the first visible GPU, by all processes."""
    query = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
    if gpu := os.environ.get("CUDA_VISIBLE_DEVICES"):
        query += ["--id", gpu]
    return int(subprocess.check_output(query, text=True).splitlines()[0])


def settled_mib(wanted: int) -> int:
    """Memory in use as soon as it is no more than this, or after a while."""
    ends_s = time.monotonic() + 5
    while (found := used_mib()) > wanted and time.monotonic() < ends_s:
        time.sleep(0.1)
    return found


def killed(victims: list[tuple[Answering, int]], draw: random.Random) -> list[float]:
    """Lets one after the other train and kills it; the moments of the kills."""
    moments = []
    for victim, pid in victims:
        victim.send("seconds 60")
        time.sleep(draw.uniform(*LIVES_S))
        moments.append(time.monotonic())
        os.kill(pid, signal.SIGKILL)
        time.sleep(AFTER_S)
    return moments


def pauses(moments: list[float], kills: list[float]) -> tuple[list[dict[str, float]], list[float]]:
    """The longest pause within a short time of each kill, and all pauses that have no kill."""
    gaps = list(itertools.pairwise(moments))
    after = []
    for kill in kills:
        begin, end = max((gap for gap in gaps if is_near(gap, kill)), key=lambda gap: gap[1] - gap[0])
        after.append({"s": end - begin, "begins_after_s": begin - kill})
    return after, [end - begin for begin, end in gaps if not any(is_near((begin, end), kill) for kill in kills)]


def is_near(gap: tuple[float, float], kill: float) -> bool:
    """Whether the gap includes a moment of the time after a kill."""
    return gap[1] > kill and gap[0] < kill + AFTER_S


def batch(command: list[str], survivors: list[Answering], draw: random.Random) -> dict[str, Any]:
    """Kills some victims while the survivors train."""
    with ExitStack() as ends:
        victims = [answering(ends, [*command, *TRAINING]) for _ in range(BATCH)]
        ready = [(victim, int(victim.read()["pid"])) for victim in victims]
        longest = BATCH * (LIVES_S[1] + AFTER_S) + 1
        with_victims = used_mib()
        for each in survivors:
            each.send(f"seconds {longest}")
        time.sleep(0.5)
        kills = killed(ready, draw)
        found = [pauses(each.read()["moments"], kills) for each in survivors]
        codes = [victim.process.wait(10) for victim in victims]
    return {
        "after": list(itertools.chain(*(after for after, _ in found))),
        "otherwise": list(itertools.chain(*(rest for _, rest in found))),
        "exit_codes": codes,
        "mib_with_victims": with_victims,
    }


def measure(command: list[str], kills: int) -> dict[str, Any]:
    """All batches beside two survivors."""
    draw = random.Random(11)
    with ExitStack() as ends:
        survivors = [answering(ends, [*command, *SURVIVOR]) for _ in range(2)]
        for each in survivors:
            each.read()
            each.ask("seconds 0.5")
        before = used_mib()
        batches = [batch(command, survivors, draw) for _ in range(-(-kills // BATCH))]
        later = settled_mib(before)
    after = [pause for each in batches for pause in each["after"]]
    lengths = [pause["s"] for pause in after]
    other = [pause for each in batches for pause in each["otherwise"]]
    codes = [code for each in batches for code in each["exit_codes"]]
    return {
        "kills": len(codes),
        "exit_codes": sorted(set(codes)),
        "pause_after_kill_s": {"median": statistics.median(lengths), "longest": max(lengths), "all": after},
        "pause_otherwise_s": {"median": statistics.median(other), "longest": sorted(other)[-5:]},
        "mib": {"before": before, "with_victims": batches[-1]["mib_with_victims"], "after": later},
    }


def main() -> None:
    """Measures with and without gpushare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--ways", default="run,alone")
    parser.add_argument("--policy", default="round-robin")
    parser.add_argument("--json", type=Path, required=True)
    chosen = parser.parse_args()
    results: dict[str, Any] = {"policy": chosen.policy}
    for way in chosen.ways.split(","):
        with tempfile.TemporaryDirectory(prefix="gpushare-benchmark-") as made, ExitStack() as ends:
            command = [*ends.enter_context(server_for(chosen.policy, Path(made))), "--"] if way == "run" else []
            results[way] = measure(command, chosen.kills)
        write(chosen.json, results)
        print(way, results[way], flush=True)


if __name__ == "__main__":
    main()
