# SPDX-License-Identifier: Apache-2.0
"""Data-parallel training on all GPUs beside a training of low priority on each: seconds of its steps, in each way.

    python -m benchmarks.programs.gangs --gpus 2 --ways slices,run:auto,singly:auto --json gangs.json

Ways are ``slices`` (without gpushare), ``run:POLICY`` (its processes are one program on all GPUs) and
``singly:POLICY`` (each is a program of its own, about which its GPU's scheduler decides alone). Each round measures it
alone, too. The other trainings go on for longer than its steps take.
"""

from __future__ import annotations

import argparse
import os
import socket
import statistics
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.programs.running import TRAINING, Answering, answering, server_for, write

TRAINER = "benchmarks.programs.parallel_training"
PRIORITY = "3"
PART_OF_WINDOW = 0.4
"""What its steps take alone, of the time for which the others train."""


def free_port() -> int:
    """A port of this host that nothing uses now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def on_gpu(number: int) -> dict[str, str]:
    """The environment of a program that sees one GPU."""
    return {**os.environ, "CUDA_VISIBLE_DEVICES": str(number)}


def started(stack: ExitStack, run: Sequence[str], chosen: argparse.Namespace, *, singly: bool) -> Answering:
    """The training on all GPUs; ``run``: the beginning of its command."""
    train = [TRAINING[0], "-m", TRAINER, "--size", chosen.size, "--ranks", str(chosen.gpus), "--port", str(free_port())]
    options = ["--name", "parallel", "--priority", PRIORITY] if run else []
    if not singly:
        whole = [*run, *options, *(["--all-gpus", "--"] if run else []), *train]
        return answering(stack, whole)
    ranks = [
        answering(stack, [*run, *options, "--", *train, "--rank", str(rank)], on_gpu(rank))
        for rank in range(chosen.gpus)
    ]
    return ranks[0]


def measured(way: str, chosen: argparse.Namespace, rate: float | None) -> dict[str, Any]:
    """Percentiles of its steps, and steps of the others. ``rate``: its steps per second alone; None: measured alone."""
    kind, _, policy = way.partition(":")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        run = stack.enter_context(server_for(policy, folder)) if policy else []
        parallel = started(stack, run, chosen, singly=kind == "singly")
        options = ["--name", "beside", "--"] if run else []
        beside = [] if rate is None else range(chosen.gpus)
        others = [answering(stack, [*run, *options, *TRAINING, "--size", "large"], on_gpu(gpu)) for gpu in beside]
        for each in (parallel, *others):
            each.read()
        for each in others:
            each.send(f"seconds {chosen.window}")
        steps = 50 if rate is None else max(10, round(PART_OF_WINDOW * chosen.window * rate))
        times = parallel.ask(f"steps {steps}")["step_s"]
        return {
            "steps_per_s": 1 / statistics.fmean(times),
            **{f"p{percent}_ms": 1e3 * float(np.percentile(times, percent)) for percent in (50, 90, 99)},
            "others_steps_per_s": [each.read()["steps_per_s"] for each in others],
        }


def main() -> None:
    """Measures, and prints medians relative to alone."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gpus", type=int, default=2)
    parser.add_argument("--size", default="large")
    parser.add_argument("--ways", default="slices,run:auto,singly:auto")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--window", type=float, default=8.0, help="Seconds of the others.")
    parser.add_argument("--json", type=Path, required=True)
    chosen = parser.parse_args()
    rounds: list[dict[str, Any]] = []
    for _ in range(chosen.rounds):
        alone = measured("alone", chosen, None)
        found = {way: measured(way, chosen, alone["steps_per_s"]) for way in chosen.ways.split(",")}
        rounds.append({"alone": alone, **found})
        write(chosen.json, {"gpus": chosen.gpus, "size": chosen.size, "rounds": rounds})
    for way in chosen.ways.split(","):
        for figure in ("p50_ms", "p99_ms"):
            ratios = [each[way][figure] / each["alone"][figure] for each in rounds]
            print(f"{way}: {figure} of alone {statistics.median(ratios):.3f} ({min(ratios):.3f}..{max(ratios):.3f})")


if __name__ == "__main__":
    main()
