// SPDX-License-Identifier: Apache-2.0
// Sums of consecutive stretches of twice the block size: a tree in dynamic shared memory, a barrier per level.
// The block size must be a power of two.

extern "C" __global__ void reduction(float* __restrict__ block_sums, const float* __restrict__ values, int count) {
  extern __shared__ float partial[];
  int thread = threadIdx.x;
  int i = blockIdx.x * blockDim.x * 2 + thread;
  float sum = i < count ? values[i] : 0.0f;
  if (i + (int)blockDim.x < count) sum += values[i + blockDim.x];
  partial[thread] = sum;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (thread < half) partial[thread] += partial[thread + half];
    __syncthreads();
  }
  if (thread == 0) block_sums[blockIdx.x] = partial[0];
}
