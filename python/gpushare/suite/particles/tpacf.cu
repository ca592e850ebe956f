// SPDX-License-Identifier: Apache-2.0
// Two-point angular correlation: how many pairs of directions lie how far apart, binned by their dot product. Block 0
// pairs the observed set (number 0) with itself, the next blocks pair it with one random set each, the last ones pair
// every random set with itself. A warp counts in a histogram of its own in shared memory.

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
constexpr int kBins = 32;

// The bounds fall, since the dot product falls as the angle grows.
__device__ int bin_of(float product, const float* bounds) {
  int bin = 0;
#pragma unroll
  for (int half = kBins / 2; half > 0; half /= 2)
    if (product < bounds[bin + half - 1]) bin += half;
  return bin;
}

extern "C" __global__ void __launch_bounds__(kThreads)
    tpacf(unsigned int* __restrict__ histograms, const float* __restrict__ x, const float* __restrict__ y,
          const float* __restrict__ z, const float* __restrict__ bounds, int points, int random_sets) {
  __shared__ float tile_x[kThreads], tile_y[kThreads], tile_z[kThreads];
  __shared__ float shared_bounds[kBins - 1];
  __shared__ unsigned int counts[kWarps][kBins];
  int block = blockIdx.x, thread = threadIdx.x;
  int right = block <= random_sets ? block : block - random_sets, left = block <= random_sets ? 0 : right;
  unsigned int* own_counts = counts[thread / 32];
  own_counts[thread % 32] = 0;
  if (thread < kBins - 1) shared_bounds[thread] = bounds[thread];
  for (int first = 0; first < points; first += kThreads) {
    int loaded = left * points + first + thread;
    if (first + thread < points) {
      tile_x[thread] = x[loaded];
      tile_y[thread] = y[loaded];
      tile_z[thread] = z[loaded];
    }
    __syncthreads();
    for (int i = thread; i < points; i += kThreads) {
      float own_x = x[right * points + i], own_y = y[right * points + i], own_z = z[right * points + i];
      // Within one set every pair counts once: with the partner of the lower number.
      int partners = min(kThreads, (left == right ? i : points) - first);
      for (int k = 0; k < partners; ++k) {
        float product = own_x * tile_x[k] + own_y * tile_y[k] + own_z * tile_z[k];
        atomicAdd(&own_counts[bin_of(product, shared_bounds)], 1u);
      }
    }
    __syncthreads();
  }
  if (thread >= kBins) return;
  unsigned int count = 0;
  for (int warp = 0; warp < kWarps; ++warp) count += counts[warp][thread];
  histograms[block * kBins + thread] = count;
}
