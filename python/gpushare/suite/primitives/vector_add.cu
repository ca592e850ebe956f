// SPDX-License-Identifier: Apache-2.0
// sums = augends + addends, one element per thread: blocks are as short as they get.

extern "C" __global__ void vector_add(float* __restrict__ sums, const float* __restrict__ augends,
                                      const float* __restrict__ addends, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) sums[i] = augends[i] + addends[i];
}
