// SPDX-License-Identifier: Apache-2.0
// 256-bin histogram of bytes: each block counts in shared memory and adds its bins to the global ones.
// It adds to what the counts hold. The block size must be 256, one thread per bin.

constexpr int kBins = 256;
constexpr int kValuesPerThread = 32;

extern "C" __global__ void histogram(unsigned int* __restrict__ counts, const unsigned char* __restrict__ values,
                                     int count) {
  __shared__ unsigned int bins[kBins];
  bins[threadIdx.x] = 0;
  __syncthreads();
  int first = blockIdx.x * kBins * kValuesPerThread + threadIdx.x;
  for (int k = 0; k < kValuesPerThread; ++k) {
    int i = first + k * kBins;
    if (i < count) atomicAdd(&bins[values[i]], 1u);
  }
  __syncthreads();
  unsigned int found = bins[threadIdx.x];
  if (found > 0) atomicAdd(&counts[threadIdx.x], found);
}
