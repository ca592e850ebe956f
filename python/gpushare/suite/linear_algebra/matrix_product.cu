// SPDX-License-Identifier: Apache-2.0
// C = A B in fp32 with 16 x 16 tiles in shared memory; one thread per element of C.

constexpr int kTile = 16;

extern "C" __global__ void matrix_product(float* __restrict__ product, const float* __restrict__ left,
                                          const float* __restrict__ right, int rows, int inner, int columns) {
  __shared__ float left_tile[kTile][kTile];
  __shared__ float right_tile[kTile][kTile];
  int x = threadIdx.x, y = threadIdx.y;
  int row = blockIdx.y * kTile + y, column = blockIdx.x * kTile + x;
  float sum = 0.0f;
  for (int first = 0; first < inner; first += kTile) {
    left_tile[y][x] = row < rows && first + x < inner ? left[(size_t)row * inner + first + x] : 0.0f;
    right_tile[y][x] = first + y < inner && column < columns ? right[(size_t)(first + y) * columns + column] : 0.0f;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kTile; ++k) sum += left_tile[y][k] * right_tile[k][x];
    __syncthreads();
  }
  if (row < rows && column < columns) product[(size_t)row * columns + column] = sum;
}
