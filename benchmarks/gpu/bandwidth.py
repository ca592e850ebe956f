# SPDX-License-Identifier: Apache-2.0
"""The bandwidth that plain kernels reach, timed with events."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gpushare.backends.cuda.device import CudaDevice
from gpushare.kernels.kernel import Kernel

from .driver import Event, Function, Stream

SOURCE = """
extern "C" __global__ void read_over(const float4* from, unsigned long long count, int rounds, float* sum) {
  float total = 0;
  unsigned long long stride = gridDim.x * (unsigned long long)blockDim.x;
  for (int round = 0; round < rounds; ++round) {
    unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;
    for (; i + 3 * stride < count; i += 4 * stride) {
      float4 a = __ldcg(from + i), b = __ldcg(from + i + stride);
      float4 c = __ldcg(from + i + 2 * stride), d = __ldcg(from + i + 3 * stride);
      total += a.x + b.y + c.z + d.w;
    }
  }
  if (total == 12345.678f) *sum = total;
}
extern "C" __global__ void triad(const float4* a, const float4* b, float4* c) {
  unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;
  float4 x = a[i], y = b[i];
  c[i] = make_float4(x.x + 3 * y.x, x.y + 3 * y.y, x.z + 3 * y.z, x.w + 3 * y.w);
}
"""
LARGE_BYTES = 1 << 30
IN_CACHE_BYTES = 16 << 20
ROUNDS_IN_CACHE = 64
THREADS = 256
BYTES_PER_ACCESS = 16
BLOCKS_PER_SM = 8
WARM_UPS = 2


def reached_gb_per_s(gpu: CudaDevice, repeats: int) -> dict[str, list[float]]:
    """By what is read or written, once per repeat."""
    read, triad = (_function(gpu, name) for name in ("read_over", "triad"))
    arrays = [gpu.core.allocate(LARGE_BYTES) for _ in range(3)]
    addresses = [_bytes(each.address) for each in arrays]
    stream, blocks = Stream(), gpu.description.sms * BLOCKS_PER_SM

    def reading(size: int, rounds: int) -> Callable[[], None]:
        arguments = [addresses[0], _bytes(size // BYTES_PER_ACCESS), _bytes(rounds, 4), addresses[2]]
        return lambda: read.launch(stream, (blocks, 1, 1), (THREADS, 1, 1), 0, arguments)

    def adding() -> None:
        grid = (LARGE_BYTES // BYTES_PER_ACCESS // THREADS, 1, 1)
        triad.launch(stream, grid, (THREADS, 1, 1), 0, addresses)

    ways = {
        "DRAM, read": (LARGE_BYTES, reading(LARGE_BYTES, 1)),
        "DRAM, two arrays read and one written": (3 * LARGE_BYTES, adding),
        "last-level cache, read": (ROUNDS_IN_CACHE * IN_CACHE_BYTES, reading(IN_CACHE_BYTES, ROUNDS_IN_CACHE)),
    }
    return {way: [size / us / 1e3 for us in _times_us(stream, launch, repeats)] for way, (size, launch) in ways.items()}


def _function(gpu: CudaDevice, name: str) -> Function:
    compiled = Kernel(SOURCE, name, preemptible=False).compile(gpu.core.architecture)
    return Function(compiled.original, compiled.symbol)


def _bytes(value: int, size: int = 8) -> bytes:
    return value.to_bytes(size, "little")


def _times_us(stream: Stream, launch: Callable[[], None], repeats: int) -> Iterator[float]:
    start, end = Event(), Event()
    for number in range(WARM_UPS + repeats):
        start.record(stream)
        launch()
        end.record(stream)
        end.wait()
        if number >= WARM_UPS:
            yield end.us_since(start)
