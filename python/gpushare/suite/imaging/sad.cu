// SPDX-License-Identifier: Apache-2.0
// Sums of absolute differences for motion estimation: each 4x4 block of a frame against the 33x33 places around it in
// the frame before. 61 threads per block of the frame, so the second warp is ragged; 18 places per thread.

constexpr int kSide = 4;
constexpr int kReach = 16;  // in each direction
constexpr int kWindow = 2 * kReach + 1;
constexpr int kPlaces = kWindow * kWindow;
constexpr int kThreads = 61;

__device__ int clamped(int place, int extent) { return min(max(place, 0), extent - 1); }

// Beyond the previous frame its border continues. `sums` holds kPlaces for each block of the frame.
extern "C" __global__ void sad(unsigned int* __restrict__ sums, const unsigned char* __restrict__ frame,
                               const unsigned char* __restrict__ previous, int rows, int columns) {
  __shared__ int own[kSide * kSide];
  int first_row = blockIdx.y * kSide, first_column = blockIdx.x * kSide;
  if (threadIdx.x < kSide * kSide) {
    int row = first_row + threadIdx.x / kSide, column = first_column + threadIdx.x % kSide;
    own[threadIdx.x] = frame[(size_t)row * columns + column];
  }
  __syncthreads();
  size_t first_place = ((size_t)blockIdx.y * gridDim.x + blockIdx.x) * kPlaces;
  for (int place = threadIdx.x; place < kPlaces; place += kThreads) {
    int row = first_row + place / kWindow - kReach, column = first_column + place % kWindow - kReach;
    int sum = 0;
    for (int y = 0; y < kSide; ++y) {
      const unsigned char* line = previous + (size_t)clamped(row + y, rows) * columns;
      for (int x = 0; x < kSide; ++x) {
        sum += abs(own[y * kSide + x] - line[clamped(column + x, columns)]);
      }
    }
    sums[first_place + place] = sum;
  }
}
