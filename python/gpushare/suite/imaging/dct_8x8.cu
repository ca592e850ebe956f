// SPDX-License-Identifier: Apache-2.0
// Forward 8x8 DCT with quantisation, and dequantisation with the inverse, as in JPEG: fixed-point, so results are
// exact. 64 threads transform a tile of 32x16 pixels (eight blocks): each takes a row of eight values, then a column.

constexpr int kTileRows = 16;
constexpr int kTileColumns = 32;
constexpr int kPitch = kTileColumns + 1;  // the columns of a block lie in different banks
constexpr int kThreads = 64;
constexpr int kFractionBits = 13;  // of the cosines
constexpr int kExtraBits = 2;      // what the values between the two passes keep

struct Tile {
  int row, column;  // of its corner in the image
};

__device__ Tile tile_of_block() { return {(int)blockIdx.y * kTileRows, (int)blockIdx.x * kTileColumns}; }

__device__ int rounded_shift(int value, int bits) { return (value + (1 << (bits - 1))) >> bits; }

// Eight values, `stride` apart, times the matrix of cosines: sum over k of matrix[u][k] * values[k].
__device__ void transform_forward(int* values, int stride, const int* __restrict__ cosines, int bits) {
  int in[8];
#pragma unroll
  for (int k = 0; k < 8; ++k) in[k] = values[k * stride];
#pragma unroll
  for (int u = 0; u < 8; ++u) {
    int sum = 0;
#pragma unroll
    for (int k = 0; k < 4; ++k) {  // the matrix is even or odd about its middle
      sum += cosines[8 * u + k] * (u % 2 == 0 ? in[k] + in[7 - k] : in[k] - in[7 - k]);
    }
    values[u * stride] = rounded_shift(sum, bits);
  }
}

// The same with the transposed matrix.
__device__ void transform_inverse(int* values, int stride, const int* __restrict__ cosines, int bits) {
  int in[8];
#pragma unroll
  for (int u = 0; u < 8; ++u) in[u] = values[u * stride];
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    int even = 0, odd = 0;
#pragma unroll
    for (int u = 0; u < 8; u += 2) {
      even += cosines[8 * u + k] * in[u];
      odd += cosines[8 * u + 8 + k] * in[u + 1];
    }
    values[k * stride] = rounded_shift(even + odd, bits);
    values[(7 - k) * stride] = rounded_shift(even - odd, bits);
  }
}

__device__ int* row_of_thread(int* tile) {
  int block = threadIdx.x / 8, line = threadIdx.x % 8;
  return tile + (8 * (block / 4) + line) * kPitch + 8 * (block % 4);
}

__device__ int* column_of_thread(int* tile) {
  return tile + 8 * (threadIdx.x / kTileColumns) * kPitch + threadIdx.x % kTileColumns;
}

__device__ int quantised(int value, int step) {
  int level = (abs(value) + step / 2) / step;
  return value < 0 ? -level : level;
}

// The image is continued by its last row and column up to whole blocks; `levels` has the size of whole blocks.
extern "C" __global__ void dct_8x8(int* __restrict__ levels, const unsigned char* __restrict__ pixels,
                                   const int* __restrict__ cosines, const int* __restrict__ steps, int rows,
                                   int columns) {
  __shared__ int tile[kTileRows * kPitch];
  Tile corner = tile_of_block();
  for (int i = threadIdx.x; i < kTileRows * kTileColumns; i += kThreads) {
    int y = i / kTileColumns, x = i % kTileColumns;
    int row = min(corner.row + y, rows - 1), column = min(corner.column + x, columns - 1);
    tile[y * kPitch + x] = pixels[(size_t)row * columns + column] - 128;
  }
  __syncthreads();
  transform_forward(row_of_thread(tile), 1, cosines, kFractionBits - kExtraBits);
  __syncthreads();
  transform_forward(column_of_thread(tile), kPitch, cosines, kFractionBits + kExtraBits);
  __syncthreads();
  int level_rows = (rows + 7) / 8 * 8, level_columns = (columns + 7) / 8 * 8;
  for (int i = threadIdx.x; i < kTileRows * kTileColumns; i += kThreads) {
    int y = i / kTileColumns, x = i % kTileColumns;
    if (corner.row + y >= level_rows || corner.column + x >= level_columns) continue;
    int level = quantised(tile[y * kPitch + x], steps[y % 8 * 8 + x % 8]);
    levels[(size_t)(corner.row + y) * level_columns + corner.column + x] = level;
  }
}

extern "C" __global__ void idct_8x8(int* __restrict__ pixels, const int* __restrict__ levels,
                                    const int* __restrict__ cosines, const int* __restrict__ steps, int rows,
                                    int columns) {
  __shared__ int tile[kTileRows * kPitch];
  Tile corner = tile_of_block();
  int level_rows = (rows + 7) / 8 * 8, level_columns = (columns + 7) / 8 * 8;
  for (int i = threadIdx.x; i < kTileRows * kTileColumns; i += kThreads) {
    int y = i / kTileColumns, x = i % kTileColumns;
    if (corner.row + y >= level_rows || corner.column + x >= level_columns) continue;
    int level = levels[(size_t)(corner.row + y) * level_columns + corner.column + x];
    tile[y * kPitch + x] = level * steps[y % 8 * 8 + x % 8];
  }
  __syncthreads();
  transform_inverse(column_of_thread(tile), kPitch, cosines, kFractionBits - kExtraBits);
  __syncthreads();
  transform_inverse(row_of_thread(tile), 1, cosines, kFractionBits + kExtraBits);
  __syncthreads();
  for (int i = threadIdx.x; i < kTileRows * kTileColumns; i += kThreads) {
    int y = i / kTileColumns, x = i % kTileColumns;
    if (corner.row + y >= rows || corner.column + x >= columns) continue;
    int value = tile[y * kPitch + x] + 128;
    pixels[(size_t)(corner.row + y) * columns + corner.column + x] = min(max(value, 0), 255);
  }
}
