// SPDX-License-Identifier: Apache-2.0
// Atomics on shared memory, then on global memory.
extern "C" __global__ void histogram(const unsigned char* data, unsigned* bins, int n) {
  __shared__ unsigned own[64];
  for (int i = threadIdx.x; i < 64; i += blockDim.x) own[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&own[data[i] & 63], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < 64; i += blockDim.x) {
    if (own[i] != 0) atomicAdd(&bins[i], own[i]);
  }
}
