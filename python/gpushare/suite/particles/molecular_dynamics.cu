// SPDX-License-Identifier: Apache-2.0
// Lennard-Jones forces, one atom per thread, over a list of as many neighbours for every atom. The list is stored with
// the atoms next to each other, so reading it is coalesced; the positions of the neighbours are gathered.

extern "C" __global__ void molecular_dynamics(float4* __restrict__ forces, const float4* __restrict__ positions,
                                              const int* __restrict__ neighbours, float cutoff_squared, float repulsion,
                                              float attraction, int atoms, int neighbour_count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= atoms) return;
  float4 own = positions[i];
  float4 force = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  for (int n = 0; n < neighbour_count; ++n) {
    float4 other = positions[neighbours[n * atoms + i]];
    float dx = own.x - other.x, dy = own.y - other.y, dz = own.z - other.z;
    float distance_squared = dx * dx + dy * dy + dz * dz;
    if (distance_squared < cutoff_squared) {
      float inverse2 = 1.0f / distance_squared;
      float inverse6 = inverse2 * inverse2 * inverse2;
      float push = inverse2 * inverse6 * (repulsion * inverse6 - attraction);
      force.x += push * dx;
      force.y += push * dy;
      force.z += push * dz;
    }
  }
  forces[i] = force;
}
