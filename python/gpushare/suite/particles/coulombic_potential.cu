// SPDX-License-Identifier: Apache-2.0
// Coulomb potential of atoms on the lattice points of a slice, summed directly, eight points of a row per thread. An
// atom is (x, y, squared distance from the slice, charge): whole warps read the same one through the read-only cache.

constexpr int kPoints = 8;  // of a thread, a block's width apart, so that stores are coalesced

extern "C" __global__ void coulombic_potential(float* __restrict__ potentials, const float4* __restrict__ atoms,
                                               float spacing, int atom_count) {
  int first = blockIdx.x * blockDim.x * kPoints + threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  float x = (float)first * spacing, y = (float)row * spacing, step = (float)blockDim.x * spacing;
  float potential[kPoints] = {};
  for (int i = 0; i < atom_count; ++i) {
    float4 atom = atoms[i];
    float dx = x - atom.x, dy = y - atom.y;
    float dyz_squared = dy * dy + atom.z;
#pragma unroll
    for (int k = 0; k < kPoints; ++k) {
      potential[k] += atom.w * rsqrtf(dx * dx + dyz_squared);
      dx += step;
    }
  }
  int columns = gridDim.x * blockDim.x * kPoints;
#pragma unroll
  for (int k = 0; k < kPoints; ++k) potentials[row * columns + first + k * blockDim.x] = potential[k];
}
