# SPDX-License-Identifier: Apache-2.0
"""Kernels that are hard to make workers of: under quotas that change again and again they write what they write alone.

Each leaves early where only the block or the warp as a whole does, or needs more of its threads than a worker has at
first sight. What is expected comes from the same kernel as it was written, `preemptible=False`.
"""

import numpy as np
import pytest
from messages import raises_naming

import gpushare as gs

pytestmark = [pytest.mark.gpu, pytest.mark.xdist_group("gpu")]

SOURCE = r"""
struct Parameters { int n[8]; float* out; int m; };
extern "C" __global__ void indexed_parameter(Parameters p) {
  if ((int)blockIdx.x >= p.n[blockIdx.x % 8]) return;
  float v = threadIdx.x; v += __shfl_xor_sync(~0u, v, 1); p.out[blockIdx.x * blockDim.x + threadIdx.x] = v + p.m;
}
extern "C" __global__ void ticket(int* next, int tiles, float* out) {
  __shared__ int t; if (threadIdx.x == 0) t = atomicAdd(next, 1); __syncthreads();
  int tile = t; if (tile >= tiles) return;
  float v = threadIdx.x; v += __shfl_xor_sync(~0u, v, 16); out[tile * blockDim.x + threadIdx.x] = v + tile;
}
extern "C" __global__ void row_per_warp(float* out, int rows) {
  int row = blockIdx.x * blockDim.y + threadIdx.y; if (row >= rows) return;
  float v = threadIdx.x + row; for (int o = 16; o; o /= 2) v += __shfl_xor_sync(~0u, v, o);
  if (threadIdx.x == 0) out[row] = v;
}
extern "C" __global__ void tail_mask(float* out, int n) {
  float v = threadIdx.x + blockIdx.x;
  if (threadIdx.x >= 8) return;
  for (int o = 4; o; o /= 2) v += __shfl_down_sync(0xff, v, o);
  if (!threadIdx.x) out[blockIdx.x] = v;
}
extern "C" __global__ void loaded_bound(float* out, const int* n) {
  __shared__ float s[256]; if ((int)blockIdx.x >= n[0]) return;
  s[threadIdx.x] = threadIdx.x * 0.5f; __syncthreads(); out[blockIdx.x * 256 + threadIdx.x] = s[255 - threadIdx.x];
}
extern "C" __global__ void bound_by_row(float* out, const int* ends, int rows) {  // a loop that a loaded value ends
  __shared__ float s[256];
  float sum = 0;
  for (int i = ends[blockIdx.x]; i < ends[blockIdx.x + 1]; ++i) {
    s[threadIdx.x] = i + threadIdx.x; __syncthreads(); sum += s[255 - threadIdx.x]; __syncthreads();
  }
  out[blockIdx.x * 256 + threadIdx.x] = sum;
}
extern "C" __global__ void dependent_launch(float* out, int n) {
  asm volatile("griddepcontrol.wait;" ::: "memory");
  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = i * 2;
  asm volatile("griddepcontrol.launch_dependents;");
}
extern "C" __global__ void early(float* out, int n) {  // threads return one by one before barriers: the single site
  __shared__ float s[256]; int i = threadIdx.x; s[i] = i + blockIdx.x; __syncthreads();
  if (i >= 200 + blockIdx.x % 50) return;
  float v = s[255 - i]; __syncthreads(); s[i] = v; __syncthreads(); out[blockIdx.x * 256 + i] = s[i / 2];
}
extern "C" __global__ void linear(float* out, int n) {  // by the number of the warp, in blocks of 16 x 16
  int t = threadIdx.y * blockDim.x + threadIdx.x; float v = t + blockIdx.x;
  if (t / 32 >= 5) return;
  for (int o = 16; o; o /= 2) v += __shfl_xor_sync(~0u, v, o);
  out[blockIdx.x * 256 + t] = v;
}
extern "C" __global__ void big(float* out, int n) {  // its file's other kernels are workers all the same
  __shared__ float s[12288];
  for (int i = threadIdx.x; i < 12288; i += blockDim.x) s[i] = i + blockIdx.x;
  __syncthreads(); out[blockIdx.x * blockDim.x + threadIdx.x] = s[(threadIdx.x * 7) % 12288];
}
"""
MBARRIER = r"""
extern "C" __global__ void mbarrier(float* out, int n) {  // left valid at its end
  __shared__ alignas(8) unsigned long long barrier; __shared__ float s[256];
  unsigned address = (unsigned)__cvta_generic_to_shared(&barrier);
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(address), "r"(blockDim.x) : "memory");
  __syncthreads();
  s[threadIdx.x] = threadIdx.x + blockIdx.x;
  asm volatile("{ .reg .b64 state; .reg .pred done;\n mbarrier.arrive.shared.b64 state, [%0];\n"
               "again: mbarrier.test_wait.shared.b64 done, [%0], state;\n @!done bra again; }"
               :: "r"(address) : "memory");
  out[blockIdx.x * 256 + threadIdx.x] = s[255 - threadIdx.x];
}
"""
BLOCKS = 3000
THREADS = 256


def source_of(name):
    return MBARRIER if name == "mbarrier" else SOURCE


def arguments(name, session, out, blocks):
    if name == "indexed_parameter":
        dtype = [("n", np.int32, 8), ("out", np.uint64), ("m", np.int32), ("pad", np.int32)]
        return [np.array((np.arange(8) * 500, out.__cuda_array_interface__["data"][0], 7, 0), dtype=dtype)[()]]
    if name == "ticket":
        return [session.zeros(1, np.int32), blocks * 9 // 10, out]
    if name == "loaded_bound":
        return [out, session.array(np.array([blocks * 3 // 4], np.int32))]
    if name == "bound_by_row":
        return [out, session.array(np.cumsum(np.arange(blocks + 1) % 7).astype(np.int32)), blocks]
    if name == "row_per_warp":
        return [out, blocks * 8 * 9 // 10]
    return [out, blocks * THREADS * 9 // 10]


NAMES = (
    "indexed_parameter", "ticket", "row_per_warp", "tail_mask", "loaded_bound", "bound_by_row", "dependent_launch",
    "early", "mbarrier", "linear", "big",
)  # fmt: skip
BLOCK_OF = {"row_per_warp": (32, 8, 1), "linear": (16, 16, 1)}


def written_by(name, policy, preemptible, blocks, launches):
    """The bytes that each of some launches in a row leaves."""
    kernel = gs.Kernel(source_of(name), name, preemptible=preemptible)
    with gs.Session("cuda:0", policy=policy, measure_alone=False) as session:
        application, written = session.application("a"), []
        for _ in range(launches):
            out = session.zeros(blocks * THREADS, np.float32)
            given = arguments(name, session, out, blocks)
            application.submit(kernel, grid=blocks, block=BLOCK_OF.get(name, THREADS), args=given).result(timeout=60)
            written.append(out.numpy().tobytes())
    return written


ON_A_GPU = {"mbarrier": [pytest.mark.real_gpu("the interpreter knows no mbarriers")]}


@pytest.mark.parametrize("name", [pytest.param(name, marks=ON_A_GPU.get(name, ())) for name in NAMES])
def test_quotas_that_change_leave_the_same_bytes(name, stress, size):
    blocks = size(BLOCKS, 12)
    (expected,) = written_by(name, "fifo", False, blocks, 1)
    for seed in range(size(5, 1)):
        for written in written_by(name, stress(seed), True, blocks, size(4, 1)):
            assert written == expected


@pytest.mark.parametrize("name", NAMES)
def test_they_are_workers(name):
    compiled = gs.Kernel(source_of(name), name).compile("sm_90")
    assert (compiled.refusal is None) == (name != "big"), compiled.refusal


@pytest.mark.parametrize("width", [8, 16, 24, 32, 48])
def test_a_block_of_another_shape_runs_as_it_was_written(width, size):
    """Rows are whole warps in blocks that are as wide; others leave what CUDA leaves."""
    blocks = size(1000, 6)
    kernels = [gs.Kernel(SOURCE, "row_per_warp", preemptible=each) for each in (False, True)]
    written = []
    with gs.Session("cuda:0", policy="even", measure_alone=False) as session:
        application = session.application("a")
        for kernel in kernels:
            out = session.zeros(blocks * 4, np.float32)
            job = application.submit(kernel, grid=blocks, block=(width, 4, 1), args=[out, blocks * 4])
            job.result(timeout=60)
            written.append(out.numpy())
    np.testing.assert_array_equal(*written)


GRID_BARRIER = """
extern "C" __global__ void meet(int* count, int* seen) {
  if (threadIdx.x == 0) {
    atomicAdd(count, 1);
    while (atomicAdd(count, 0) < (int)gridDim.x) { }
    seen[blockIdx.x] = *(volatile int*)count;
  }
}
"""


def test_blocks_that_wait_for_each_other_run_whole_where_they_fit():
    kernel = gs.Kernel(GRID_BARRIER, "meet")
    with gs.Session("cuda:0", policy="fifo", measure_alone=False) as session:
        sms = session.device.description.sms
        count, seen = session.zeros(1, np.int32), session.zeros(sms, np.int32)
        session.application("a").submit(kernel, grid=sms, block=32, args=[count, seen]).result(timeout=60)
        assert set(seen.numpy()) == {sms}
        many = sms * 64
        with raises_naming(gs.InvalidInput, many):
            session.application("b").submit(kernel, grid=many, block=32, args=[count, seen])
