// SPDX-License-Identifier: Apache-2.0
// Non-local means, the fast variant: the 8x8 pixels of a block share the weights of the 64 shifts in their window. Each
// thread weighs one shift, by how much the shifted block differs from the block itself, then averages for its pixel.

constexpr int kSide = 8;
constexpr int kShifts = kSide * kSide;
constexpr int kRadius = kSide / 2;
constexpr float kFlatShare = 0.9f;      // how much of the average goes into a pixel where most shifts look alike
constexpr float kTexturedShare = 0.3f;  // and elsewhere

__device__ int clamped(int place, int extent) { return min(max(place, 0), extent - 1); }

__device__ int channel(unsigned int pixel, int c) { return pixel >> (8 * c) & 255; }

// Beyond the image its border continues.
__device__ unsigned int pixel_at(const unsigned int* __restrict__ pixels, int rows, int columns, int row, int column) {
  return pixels[(size_t)clamped(row, rows) * columns + clamped(column, columns)];
}

// The sum of the squared differences between the block and itself, shifted.
__device__ int distance_at(const unsigned int* own, const unsigned int* __restrict__ pixels, int rows, int columns,
                           int shift_y, int shift_x) {
  int distance = 0;
  for (int y = 0; y < kSide; ++y) {
    int row = clamped(blockIdx.y * kSide + y + shift_y, rows);
#pragma unroll 2  // eight at once cost registers, and so blocks at a time
    for (int x = 0; x < kSide; ++x) {
      int column = clamped(blockIdx.x * kSide + x + shift_x, columns);
      unsigned int a = own[y * kSide + x], b = pixels[(size_t)row * columns + column];
      for (int c = 0; c < 3; ++c) {
        int difference = channel(a, c) - channel(b, c);
        distance += difference * difference;
      }
    }
  }
  return distance;
}

__device__ float mixed(float pixel, float average, float share) { return pixel + (average - pixel) * share; }

extern "C" __global__ void nlm_denoise(float4* __restrict__ denoised, const unsigned int* __restrict__ pixels, int rows,
                                       int columns, float fall_with_difference, float fall_with_radius,
                                       int alike_below) {
  __shared__ unsigned int own[kShifts];
  __shared__ float weights[kShifts];
  __shared__ int distances[kShifts];
  int thread = threadIdx.y * kSide + threadIdx.x;
  int row = blockIdx.y * kSide + threadIdx.y, column = blockIdx.x * kSide + threadIdx.x;
  own[thread] = pixel_at(pixels, rows, columns, row, column);
  __syncthreads();
  int shift_y = (int)threadIdx.y - kRadius, shift_x = (int)threadIdx.x - kRadius;
  int distance = distance_at(own, pixels, rows, columns, shift_y, shift_x);
  float squared_radius = (float)(shift_y * shift_y + shift_x * shift_x);
  distances[thread] = distance;
  weights[thread] = __expf(-((float)distance * fall_with_difference + squared_radius * fall_with_radius));
  __syncthreads();
  if (row >= rows || column >= columns) return;
  float sums[3] = {0.0f, 0.0f, 0.0f}, weight_sum = 0.0f;
  int alike = 0;
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x < kSide; ++x) {
      unsigned int pixel = pixel_at(pixels, rows, columns, row + y - kRadius, column + x - kRadius);
      float weight = weights[y * kSide + x];
      for (int c = 0; c < 3; ++c) sums[c] += weight * (float)channel(pixel, c);
      weight_sum += weight;
      alike += distances[y * kSide + x] < alike_below;
    }
  }
  float share = alike > kShifts / 2 ? kFlatShare : kTexturedShare;
  float results[3];
  for (int c = 0; c < 3; ++c) results[c] = mixed((float)channel(own[thread], c), sums[c] / weight_sum, share);
  denoised[(size_t)row * columns + column] = make_float4(results[0], results[1], results[2], 255.0f);
}
