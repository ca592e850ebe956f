// SPDX-License-Identifier: Apache-2.0
// Systematic resampling of a particle filter: every new particle takes the place of the first old one whose cumulative
// weight reaches its threshold, found by a search from the start. Thresholds rise, so late blocks search the longest.

extern "C" __global__ void particle_filter(float* __restrict__ new_x, float* __restrict__ new_y,
                                           const float* __restrict__ x, const float* __restrict__ y,
                                           const float* __restrict__ cumulative_weights,
                                           const float* __restrict__ thresholds, int particles) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= particles) return;
  float threshold = thresholds[i];
  // Rounded sums may end below the last threshold: what finds no particle takes the last one.
  int chosen = particles - 1;
  for (int candidate = 0; candidate < particles; ++candidate) {
    if (cumulative_weights[candidate] >= threshold) {
      chosen = candidate;
      break;
    }
  }
  new_x[i] = x[chosen];
  new_y[i] = y[chosen];
}
