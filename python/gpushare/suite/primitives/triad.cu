// SPDX-License-Identifier: Apache-2.0
// STREAM triad, one element per thread: the shortest useful block, so whatever handing out blocks costs shows here.

extern "C" __global__ void triad(float* __restrict__ sums, const float* __restrict__ addends,
                                 const float* __restrict__ factors, float scale, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) sums[i] = addends[i] + scale * factors[i];
}
