// SPDX-License-Identifier: Apache-2.0
// STREAM triad, two float4 per thread: the same traffic as triad in an eighth of the blocks.

constexpr int kVectorsPerThread = 2;

__device__ float4 scaled_sum(float4 a, float scale, float4 b) {
  return make_float4(a.x + scale * b.x, a.y + scale * b.y, a.z + scale * b.z, a.w + scale * b.w);
}

extern "C" __global__ void triad_vector(float4* __restrict__ sums, const float4* __restrict__ addends,
                                        const float4* __restrict__ factors, float scale, int vectors) {
  int first = blockIdx.x * blockDim.x * kVectorsPerThread + threadIdx.x;
#pragma unroll
  for (int k = 0; k < kVectorsPerThread; ++k) {
    // Neighbouring threads take neighbouring vectors, so that each load of a warp is one stretch of memory.
    int i = first + k * blockDim.x;
    if (i < vectors) sums[i] = scaled_sum(addends[i], scale, factors[i]);
  }
}
