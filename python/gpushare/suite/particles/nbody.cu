// SPDX-License-Identifier: Apache-2.0
// Restricted n-body problem: massive sources act on massless targets, every pair computed, sources in shared tiles.
// A body is (x, y, z, mass), of which a target's mass is not read; a field is (acceleration x, y, z, potential), with
// the gravitational constant 1.

constexpr int kTile = 256;  // threads in a block

extern "C" __global__ void __launch_bounds__(kTile)
    nbody(float4* __restrict__ fields, const float4* __restrict__ targets, const float4* __restrict__ sources,
          float softening_squared, int target_count, int source_count) {
  __shared__ float4 tile[kTile];
  int i = blockIdx.x * kTile + threadIdx.x;
  float4 target = i < target_count ? targets[i] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  float4 field = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  for (int first = 0; first < source_count; first += kTile) {
    int j = first + threadIdx.x;
    tile[threadIdx.x] = j < source_count ? sources[j] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    __syncthreads();
#pragma unroll 8
    for (int k = 0; k < kTile; ++k) {
      float4 source = tile[k];
      float dx = source.x - target.x, dy = source.y - target.y, dz = source.z - target.z;
      float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + softening_squared);
      float potential = source.w * inverse, pull = potential * inverse * inverse;
      field.x += pull * dx;
      field.y += pull * dy;
      field.z += pull * dz;
      field.w -= potential;
    }
    __syncthreads();
  }
  if (i < target_count) fields[i] = field;
}
