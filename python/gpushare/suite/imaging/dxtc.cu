// SPDX-License-Identifier: Apache-2.0
// BC1 (DXT1) compression, one 4x4 tile per block of 64 threads: the 16 colours are sorted along their principal axis,
// every way to cut that order into four clusters is fitted by least squares, and the best one is written.
// Sums are of whole numbers and the rest of fp32 is rounded step by step, so any IEEE machine finds the same blocks.

constexpr int kPixels = 16;
constexpr int kThreads = 64;
constexpr int kPowerSteps = 8;
constexpr int kWorst = 0x7fffffff;

struct Fit {
  int error;          // nine times the squared error, less a constant of the tile
  int first, second;  // the ends of the line as 5:6:5 colours
};

__device__ float dot(const float* a, const float* b) {
  return __fadd_rn(__fadd_rn(__fmul_rn(a[0], b[0]), __fmul_rn(a[1], b[1])), __fmul_rn(a[2], b[2]));
}

// The direction in which the colours spread most, by power iteration on their covariance.
__device__ void principal_axis(const int (*colours)[3], float* axis) {
  int sums[3] = {0, 0, 0}, squares[3][3] = {};
  for (int i = 0; i < kPixels; ++i) {
    for (int c = 0; c < 3; ++c) {
      sums[c] += colours[i][c];
      for (int d = 0; d < 3; ++d) squares[c][d] += colours[i][c] * colours[i][d];
    }
  }
  float covariance[3][3];
  for (int c = 0; c < 3; ++c) {
    for (int d = 0; d < 3; ++d) covariance[c][d] = (float)(kPixels * squares[c][d] - sums[c] * sums[d]);
  }
  for (int c = 0; c < 3; ++c) axis[c] = 1.0f;
  for (int step = 0; step < kPowerSteps; ++step) {
    float next[3] = {dot(covariance[0], axis), dot(covariance[1], axis), dot(covariance[2], axis)};
    float largest = fmaxf(fmaxf(fabsf(next[0]), fabsf(next[1])), fabsf(next[2]));
    if (largest == 0.0f) return;
    for (int c = 0; c < 3; ++c) axis[c] = next[c] / largest;
  }
}

// The least-squares end of the line in one channel, as a whole number of steps of the 5:6:5 format.
__device__ int nearest_step(int numerator, float determinant, float steps) {
  float value = fminf(fmaxf((float)numerator / determinant, 0.0f), 255.0f);
  return (int)rintf(__fmul_rn(value, steps) / 255.0f);
}

// Both ends and the error for a clustering: two bits for each colour in order, its share of the first end in thirds.
// Not inlined: it is long, and called in two places.
__device__ __noinline__ Fit fitted(const int (*sorted)[3], unsigned int clustering) {
  int aa = 0, bb = 0, ab = 0, ax[3] = {0, 0, 0}, bx[3] = {0, 0, 0};
#pragma unroll
  for (int i = 0; i < kPixels; ++i) {
    int a = clustering >> (2 * i) & 3, b = 3 - a;
    aa += a * a;
    bb += b * b;
    ab += a * b;
    for (int c = 0; c < 3; ++c) {
      ax[c] += a * sorted[i][c];
      bx[c] += b * sorted[i][c];
    }
  }
  int determinant = aa * bb - ab * ab;
  if (determinant == 0) return {kWorst, 0, 0};  // all in one cluster
  Fit fit = {0, 0, 0};
  for (int c = 0; c < 3; ++c) {
    int bits = c == 1 ? 6 : 5, shift = c == 0 ? 11 : c == 1 ? 5 : 0;
    float steps = (float)((1 << bits) - 1);
    int first = nearest_step(3 * (ax[c] * bb - bx[c] * ab), (float)determinant, steps);
    int second = nearest_step(3 * (bx[c] * aa - ax[c] * ab), (float)determinant, steps);
    fit.first |= first << shift;
    fit.second |= second << shift;
    int a = first << (8 - bits) | first >> (2 * bits - 8), b = second << (8 - bits) | second >> (2 * bits - 8);
    fit.error += aa * a * a + bb * b * b + 2 * (ab * a * b - 3 * (ax[c] * a + bx[c] * b));
  }
  return fit;
}

// The first end must be the larger number; the index of a colour is 0 for it, 1 for the other, 2 and 3 in between.
__device__ uint2 encoded(Fit fit, unsigned int clustering, const int* order) {
  bool is_swapped = fit.first < fit.second;
  unsigned int indices = 0;
  for (int i = 0; i < kPixels && fit.first != fit.second; ++i) {
    unsigned int a = clustering >> (2 * i) & 3;
    unsigned int share = is_swapped ? 3 - a : a;
    unsigned int index = share == 3 ? 0 : share == 0 ? 1 : 4 - share;
    indices |= index << (2 * order[i]);
  }
  unsigned int larger = max(fit.first, fit.second), smaller = min(fit.first, fit.second);
  return make_uint2(larger | smaller << 16, indices);
}

extern "C" __global__ void dxtc(unsigned int* __restrict__ blocks, const unsigned int* __restrict__ pixels,
                                const unsigned int* __restrict__ clusterings, int clustering_count, int tiles_across) {
  __shared__ int colours[kPixels][3], sorted[kPixels][3], order[kPixels], errors[kThreads], places[kThreads];
  __shared__ float projections[kPixels];
  int thread = threadIdx.x;
  int tile_row = blockIdx.x / tiles_across, tile_column = blockIdx.x % tiles_across;
  if (thread < kPixels) {
    int row = 4 * tile_row + thread / 4, column = 4 * tile_column + thread % 4;
    unsigned int pixel = pixels[(size_t)row * 4 * tiles_across + column];
    for (int c = 0; c < 3; ++c) colours[thread][c] = pixel >> (8 * c) & 255;
  }
  __syncthreads();
  if (thread < kPixels) {
    float axis[3], colour[3];
    principal_axis(colours, axis);
    for (int c = 0; c < 3; ++c) colour[c] = (float)colours[thread][c];
    projections[thread] = dot(colour, axis);
  }
  __syncthreads();
  if (thread < kPixels) {
    int rank = 0;
    for (int i = 0; i < kPixels; ++i) {
      rank += projections[i] < projections[thread] || (projections[i] == projections[thread] && i < thread);
    }
    order[rank] = thread;
    for (int c = 0; c < 3; ++c) sorted[rank][c] = colours[thread][c];
  }
  __syncthreads();
  errors[thread] = kWorst;
  places[thread] = 0;
  for (int i = thread; i < clustering_count; i += kThreads) {
    int error = fitted(sorted, clusterings[i]).error;
    if (error < errors[thread]) errors[thread] = error, places[thread] = i;
  }
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (thread >= half) continue;
    int error = errors[thread + half], place = places[thread + half];
    if (error < errors[thread] || (error == errors[thread] && place < places[thread])) {
      errors[thread] = error, places[thread] = place;
    }
  }
  if (thread > 0) return;
  unsigned int clustering = clusterings[places[0]];
  uint2 block = encoded(fitted(sorted, clustering), clustering, order);
  blocks[2 * blockIdx.x] = block.x;
  blocks[2 * blockIdx.x + 1] = block.y;
}
