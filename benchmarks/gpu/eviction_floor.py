# SPDX-License-Identifier: Apache-2.0
"""Eviction without a scheduler: time from the write of the command until the host sees that no worker is left."""

from __future__ import annotations

import random

from gpushare import _core
from gpushare.backends.cuda.device import CudaDevice
from gpushare.backends.cuda.loaded_workload import LoadedLaunch

from .spread import percentile
from .timed_kernel import chosen_chunk

FLOOR_REPEATS = 40
NO_LIMIT_NS = 10_000_000_000
NO_LOOKS_NS = 10_000_000_000


class Floor:
    """One kernel's full set of workers, stopped at random times by the thread that then waits for their end."""

    def __init__(self, gpu: CudaDevice, loaded: LoadedLaunch, seed: int) -> None:
        self.gpu = gpu
        self.loaded = loaded
        launch = loaded.launch
        self.program = _core.CudaProgram()
        self.program.add_launch(loaded.code, launch.grid, launch.block, launch.shared_bytes, loaded.packed)
        residency = loaded.code.occupancy(gpu.core, launch.block, launch.shared_bytes)
        self.quotas = [residency] * gpu.description.sms
        self.source = random.Random(seed)

    def gone_us(self, chunk: int) -> list[float]:
        """Times per eviction, in microseconds."""
        whole_ns = self._trial(chunk, NO_LIMIT_NS).end_ns
        gone = []
        for _ in range(FLOOR_REPEATS):
            trial = self._trial(chunk, round(self.source.uniform(0.2, 0.7) * whole_ns))
            if trial.told_ns is not None and not trial.finished:
                gone.append((trial.end_ns - trial.told_ns) / 1e3)
        return gone

    def _trial(self, chunk: int, limit_ns: int) -> _core.WorkerTrial:
        self.loaded.restore()
        return _core.run_worker_trial(self.gpu.core, self.program, self.quotas, chunk, 0, limit_ns, NO_LOOKS_NS)


def floor_row(gpu: CudaDevice, name: str, loaded: LoadedLaunch, block_us: float, limit_us: float) -> dict[str, object]:
    """A row for gpushare's chunk size, and for claims of one block."""
    floor = Floor(gpu, loaded, seed=0)
    row: dict[str, object] = {"kernel": name, "block": block_us, "limit": limit_us}
    for words, chunk in (("", chosen_chunk(block_us, gpu.description.runtime.work_per_claim_ns)), ("chunk 1, ", 1)):
        gone = floor.gone_us(chunk)
        row |= {f"{words}n": len(gone), f"{words}p50": percentile(gone, 50), f"{words}p99": percentile(gone, 99)}
    return row
