# SPDX-License-Identifier: Apache-2.0
"""The GPU's clock beside the host's: a kernel writes its time to host memory while this process reads it."""

from __future__ import annotations

import ctypes
import time

from gpushare.backends.cuda.device import CudaDevice
from gpushare.kernels.kernel import Kernel

from .driver import Function, Stream, call, use_primary_context

TICK_NS = 3_000_000
LONGEST_START_NS = 10_000_000_000
MAPPED = 3
"""cuMemHostAlloc: portable, and visible to the device."""
TICK = """
extern "C" __global__ void tick(volatile unsigned long long* where, unsigned long long duration_ns) {
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
  do {
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    *where = now;
    __threadfence_system();
  } while (now - begin < duration_ns);
}
"""


class GpuClock:
    """Converts times of the GPU to the host's, between two looks at both clocks.

    The difference is known but for the way of a write to the host, less than a microsecond: times of the GPU are
    converted to times that are late by as much.
    """

    def __init__(self, gpu: CudaDevice) -> None:
        use_primary_context(gpu.ordinal)
        compiled = Kernel(TICK, "tick", preemptible=False).compile(gpu.core.architecture)
        self._function = Function(compiled.original, compiled.symbol)
        self._stream = Stream()
        self._memory = ctypes.c_void_p()
        call("cuMemHostAlloc", ctypes.byref(self._memory), ctypes.c_size_t(64), ctypes.c_uint(MAPPED))
        self._on_gpu = ctypes.c_uint64()
        call("cuMemHostGetDevicePointer_v2", ctypes.byref(self._on_gpu), self._memory, ctypes.c_uint(0))
        self._looks: list[tuple[int, int]] = []

    def look(self) -> None:
        """Reads both clocks.

        Raises:
            RuntimeError: the GPU does not start the kernel that tells its time.
        """
        assert self._memory.value is not None
        told = ctypes.c_uint64.from_address(self._memory.value)
        told.value = 0
        arguments = [self._on_gpu.value.to_bytes(8, "little"), TICK_NS.to_bytes(8, "little")]
        self._function.launch(self._stream, (1, 1, 1), (1, 1, 1), 0, arguments)
        best, at = -(2**63), 0
        now = time.monotonic_ns()
        end = now + LONGEST_START_NS
        while now < end:
            gpu_ns = told.value
            now = time.monotonic_ns()
            if gpu_ns != 0 and at == 0:
                end = now + TICK_NS
            if gpu_ns != 0 and gpu_ns - now > best:
                best, at = gpu_ns - now, now
        if at == 0:
            raise RuntimeError(f"the GPU did not start a kernel of one thread within {LONGEST_START_NS // 10**9} s")
        self._stream.wait()
        self._looks = [*self._looks[-1:], (at, best)]

    def host_ns(self, gpu_ns: int) -> int:
        """A time of the GPU by ``time.monotonic_ns``. The clocks drift: the difference is that of the moment."""
        (first, before), (second, after) = self._looks[0], self._looks[-1]
        part = (gpu_ns - before - first) / (second - first) if second > first else 0.0
        return gpu_ns - before - round(part * (after - before))
