# SPDX-License-Identifier: Apache-2.0
"""Data-parallel training on several GPUs: one process each, which add up their gradients by NCCL after every step.

Rank 0 trains when a line of its input requests it, such as "steps 60", and prints a line with the seconds of each step.
With ``--rank`` this is one process of several that were started singly; without, it starts the others itself.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys

import torch
from benchmarks.programs.training import SIZES, Training
from torch import distributed
from torch.nn.parallel import DistributedDataParallel


class ParallelTraining(Training):
    """One of the processes' parts."""

    def __init__(self, size: str) -> None:
        super().__init__(size, deterministic=False, every=1)
        self._model = DistributedDataParallel(self._model)

    def step_times(self, steps: int) -> list[float]:
        """Seconds from the end of each step to that of the next."""
        return [after - before for before, after in itertools.pairwise(self.run(steps)["moments"])]


def requested_steps() -> int:
    """What the next line of the input requests; 0 at its end."""
    line = sys.stdin.readline()
    return int(line.split()[1]) if line.strip() else 0


def train(rank: int, chosen: argparse.Namespace) -> None:
    """The process of this rank, until rank 0's input ends."""
    torch.cuda.set_device(rank % torch.cuda.device_count())
    distributed.init_process_group("nccl", f"tcp://127.0.0.1:{chosen.port}", rank=rank, world_size=chosen.ranks)
    orders = distributed.new_group(backend="gloo")
    training = ParallelTraining(chosen.size)
    training.run(5)
    if rank == 0:
        print(json.dumps({"pid": os.getpid()}), flush=True)
    while True:
        steps = torch.tensor([requested_steps() if rank == 0 else 0])
        distributed.broadcast(steps, 0, group=orders)
        if steps.item() == 0:
            break
        times = training.step_times(int(steps))
        if rank == 0:
            print(json.dumps({"step_s": times}), flush=True)
    distributed.destroy_process_group()


def main() -> None:
    """Trains as one process, or as all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=SIZES, default="large")
    parser.add_argument("--ranks", type=int, required=True, help="Number of processes.")
    parser.add_argument("--rank", type=int, help="Of this process, where each is started singly.")
    parser.add_argument("--port", type=int, required=True, help="Free port of this host.")
    chosen = parser.parse_args()
    command = [sys.executable, "-m", "benchmarks.programs.parallel_training", *sys.argv[1:]]
    numbers = range(1, chosen.ranks) if chosen.rank is None else ()
    others = [subprocess.Popen([*command, "--rank", str(rank)]) for rank in numbers]
    train(chosen.rank or 0, chosen)
    for each in others:
        each.wait()


if __name__ == "__main__":
    main()
