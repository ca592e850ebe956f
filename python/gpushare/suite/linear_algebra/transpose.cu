// SPDX-License-Identifier: Apache-2.0
// Matrix transpose through a 32 x 33 tile in shared memory. Blocks are 32 x 8 threads; each moves a 32 x 32 tile.

constexpr int kTile = 32;
constexpr int kRowsAtOnce = 8;

extern "C" __global__ void transpose(float* __restrict__ transposed, const float* __restrict__ matrix, int rows,
                                     int columns) {
  __shared__ float tile[kTile][kTile + 1];  // one column more: reading down a column hits 32 different banks
  int column = blockIdx.x * kTile + threadIdx.x;
  for (int k = threadIdx.y; k < kTile; k += kRowsAtOnce) {
    int row = blockIdx.y * kTile + k;
    if (row < rows && column < columns) tile[k][threadIdx.x] = matrix[(size_t)row * columns + column];
  }
  __syncthreads();
  int row = blockIdx.y * kTile + threadIdx.x;
  for (int k = threadIdx.y; k < kTile; k += kRowsAtOnce) {
    int column_read = blockIdx.x * kTile + k;
    if (row < rows && column_read < columns) transposed[(size_t)column_read * rows + row] = tile[threadIdx.x][k];
  }
}
