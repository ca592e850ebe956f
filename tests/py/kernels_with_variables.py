# SPDX-License-Identifier: Apache-2.0
"""Kernels with variables in device memory, and what their launches find there."""

import numpy as np

PATIENCE_S = 60
COUNTS = [8, 16, 24, 32, 40, 48, 56, 64]
SOURCE = """
__device__ int total;
__constant__ float coefficient[4];
namespace tuning { __device__ float scale = 2.5f; }
static __device__ unsigned char hidden[3] = {7, 8, 9};
struct Pair { int first; float second; };
__device__ Pair pair = {3, 0.5f};
__managed__ double level = 1.25;

__global__ void count(int* seen) {
  static __device__ int inside;
  if (threadIdx.x != 0) return;
  atomicAdd(&inside, 1);
  seen[blockIdx.x] = atomicAdd(&total, 1) + 1;
}
__global__ void read(int* out, float* c) {
  out[0] = total;
  for (int i = 0; i < 4; ++i) c[i] = coefficient[i];
  c[4] = tuning::scale;
  c[5] = hidden[out[1]];
  c[6] = pair.first + pair.second;
  c[7] = (float)level;
}
"""
BY_PARTS = """
__device__ unsigned int arrived;
__device__ float parts[64];

__global__ void sum(float const* values, float* out, int n) {
  __shared__ float held[64];
  __shared__ bool is_last;
  float mine = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) mine += values[i];
  held[threadIdx.x] = mine;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (unsigned i = 1; i < blockDim.x; ++i) mine += held[i];
    parts[blockIdx.x] = mine;
    __threadfence();
    is_last = atomicInc(&arrived, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!is_last || threadIdx.x != 0) return;
  float all = 0;
  for (unsigned i = 0; i < gridDim.x; ++i) all += ((volatile float*)parts)[i];
  *out = all;
}
"""
TEMPLATE = """
__device__ int total;
template <int step> __global__ void count(int* out) { if (threadIdx.x == 0) *out = atomicAdd(&total, step) + step; }
template <int step> __global__ void idle(int* out) { *out = step; }
"""


def counted(session, application, count, launches=8):
    """What the launches have seen at most, one after the other."""
    seen, highest = session.zeros(8, np.int32), []
    for _ in range(launches):
        application.submit(count, grid=8, block=32, args=[seen]).result(PATIENCE_S)
        highest.append(int(seen.numpy().max()))
    return highest


def read_by(session, application, read):
    """The counter and what else the other kernel finds."""
    out, found = session.array(np.array([0, 1], np.int32)), session.zeros(8, np.float32)
    application.submit(read, grid=1, block=32, args=[out, found]).result(PATIENCE_S)
    return int(out.numpy()[0]), found.numpy()
