// SPDX-License-Identifier: Apache-2.0
// Quasirandom numbers of three dimensions: a number is the exclusive or of the direction numbers where its position has
// a bit. A row of threads computes a dimension, and the threads of the grid share the positions between them.

constexpr int kDimensions = 3;
constexpr int kBits = 31;

extern "C" __global__ void quasirandom(float* __restrict__ numbers, const unsigned int* __restrict__ directions,
                                       unsigned int first, int count) {
  __shared__ unsigned int table[kDimensions * kBits];
  int thread = threadIdx.y * blockDim.x + threadIdx.x;
  if (thread < kDimensions * kBits) table[thread] = directions[thread];
  __syncthreads();
  const unsigned int* row = table + threadIdx.y * kBits;
  float* row_numbers = numbers + (size_t)threadIdx.y * count;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    unsigned int position = first + i, number = 0;
#pragma unroll
    for (int bit = 0; bit < kBits; ++bit)
      if (position >> bit & 1) number ^= row[bit];
    row_numbers[i] = (float)(number + 1) * 0x1p-31f;
  }
}
