# SPDX-License-Identifier: Apache-2.0
"""The programs that sharing.py measures side by side, and what each way to share the GPU makes of them."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from benchmarks.programs.running import TRAINING

MOST_CLIENTS = 12
"""Of one MPS: more have not been tried."""
SERVING = (sys.executable, "-m", "benchmarks.programs.serving", "--requests")
ORDERED = "ordered"
"""The file that nvcc makes of ordered.cu."""


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
    kind, _, choice = way.partition(":")
    has_percentages = kind == "mps" and choice not in ("", "priorities")
    return not has_percentages or len(choice.split("/")) == len(LOADS[load])


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
