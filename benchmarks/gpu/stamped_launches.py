# SPDX-License-Identifier: Apache-2.0
"""Launches whose blocks write when they began and ended, run through the scheduler and told by the host's clock."""

from __future__ import annotations

import numpy as np

import gpushare as gs
from gpushare import _core
from gpushare.backends.cuda.device import CudaDevice
from gpushare.backends.cuda.loaded_workload import CudaWorkload
from gpushare.backends.cuda.run import CudaRunner
from gpushare.kernels.kernel import Kernel
from gpushare.model.workload import Application, Launch, Workload

from .gpu_clock import GpuClock

BLOCK = 128
SOURCE = """
extern "C" __global__ void stamp(unsigned long long* times, int launch, unsigned duration_ns) {
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
  do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  while (now - begin < duration_ns);
  if (threadIdx.x == 0) {
    times[2 * blockIdx.x] = begin;
    times[2 * blockIdx.x + 1] = now;
  }
}
"""


class StampedLaunches:
    """One application of such launches, run again and again.

    Args:
        gpu: the device.
        count: launches.
        waves: how often the blocks of a launch fill the GPU.
        duration_ns: time of a block.
    """

    def __init__(self, gpu: CudaDevice, count: int, waves: int, duration_ns: int) -> None:
        per_sm = gpu.description.per_sm
        blocks = waves * gpu.description.sms * min(per_sm.threads // BLOCK, per_sm.blocks)
        kernel = Kernel(SOURCE, "stamp")
        times = gs.Zeros(2 * blocks, np.uint64)
        self._launches = [  # the number makes them different, so that each has its own times
            Launch(kernel, grid=blocks, block=BLOCK, args=(times, number, duration_ns)) for number in range(count)
        ]
        self._runner = CudaRunner(gpu, 20.0)
        self._clock = GpuClock(gpu)
        self._workload = Workload("stamped", (Application("stamped", tuple(self._launches)),))

    def run(self, policy: str | gs.Policy) -> _core.RunRecord:
        """One run. Both clocks are read before and after."""
        prepared = CudaWorkload(self._runner.device, self._workload, self._runner._loaded)
        prepared.restore()
        self._clock.look()
        record = self._runner._record(prepared, policy, {}, 0, record=True)
        self._clock.look()
        return record

    def times_ns(self, record: _core.RunRecord) -> list[np.ndarray]:
        """By launch, begin and end of every block in the time of the run, which was the last one."""
        return [self._in_run(launch, record) for launch in self._launches]

    def _in_run(self, launch: Launch, record: _core.RunRecord) -> np.ndarray:
        stamps = self._runner._loaded[launch].arguments[0].numpy().reshape(-1, 2)
        first = stamps[:, 0].min()
        # The difference of the clocks hardly changes within a launch.
        return (stamps - first).astype(np.int64) + self._clock.host_ns(int(first)) - record.began
