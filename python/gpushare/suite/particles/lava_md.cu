// SPDX-License-Identifier: Apache-2.0
// Particles in boxes, each acted on by those of its own box and of the boxes around it through a Gaussian potential. A
// block computes a box: 100 of its 128 threads have a particle, and the others only take part in the barriers. A
// particle is (x, y, z, charge), a field is (force x, y, z, potential).

constexpr int kThreads = 128;
constexpr int kParticles = 100;  // in a box
constexpr int kMostNeighbours = 27;

extern "C" __global__ void __launch_bounds__(kThreads)
    lava_md(float4* __restrict__ fields, const float4* __restrict__ particles, const int* __restrict__ neighbours,
            const int* __restrict__ neighbour_counts, float sharpness) {
  __shared__ float4 others[kParticles];
  int box = blockIdx.x, i = threadIdx.x;
  float4 own = particles[box * kParticles + min(i, kParticles - 1)];
  float4 field = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  int neighbour_count = neighbour_counts[box];
  for (int n = 0; n < neighbour_count; ++n) {
    int neighbour = neighbours[box * kMostNeighbours + n];
    if (i < kParticles) others[i] = particles[neighbour * kParticles + i];
    __syncthreads();
    if (i < kParticles) {
      for (int j = 0; j < kParticles; ++j) {
        float4 other = others[j];
        float dx = own.x - other.x, dy = own.y - other.y, dz = own.z - other.z;
        float potential = other.w * expf(-sharpness * (dx * dx + dy * dy + dz * dz));
        float push = 2.0f * sharpness * potential;
        field.x += push * dx;
        field.y += push * dy;
        field.z += push * dz;
        field.w += potential;
      }
    }
    __syncthreads();
  }
  if (i < kParticles) fields[box * kParticles + i] = field;
}
