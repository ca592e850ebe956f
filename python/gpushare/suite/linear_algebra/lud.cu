// SPDX-License-Identifier: Apache-2.0
// Blocked LU decomposition, the update of what is left: every 16 x 16 tile below and right of the finished rows and
// columns loses the product of the tile of L to its left and the tile of U above it, in place.

constexpr int kTile = 16;

extern "C" __global__ void lud(float* __restrict__ matrix, int size, int finished) {
  __shared__ float lower[kTile][kTile];
  __shared__ float upper[kTile][kTile];
  int x = threadIdx.x, y = threadIdx.y;
  int row = finished + (blockIdx.y + 1) * kTile + y, column = finished + (blockIdx.x + 1) * kTile + x;
  lower[y][x] = matrix[row * size + finished + x];
  upper[y][x] = matrix[(finished + y) * size + column];
  __syncthreads();
  float sum = 0.0f;
#pragma unroll
  for (int k = 0; k < kTile; ++k) sum += lower[y][k] * upper[k][x];
  matrix[row * size + column] -= sum;
}
