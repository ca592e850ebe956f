// SPDX-License-Identifier: Apache-2.0
// One level of the reversible 5/3 wavelet of JPEG 2000 on whole numbers. A block lifts a tile of 32x32 samples in
// shared memory, with the borders that lifting needs: two samples before, one after. Quarters of the result: low, high
// x and y.

constexpr int kTile = 32;
constexpr int kBefore = 2;
constexpr int kSide = kBefore + kTile + 1;
constexpr int kPitch = kSide + 1;
constexpr int kThreads = 256;
constexpr int kAlongRow = 1;
constexpr int kAlongColumn = kPitch;

// Samples beyond the image are those within, seen in a mirror on its border. Beyond even that, any will do.
__device__ int mirrored(int place, int extent) {
  place = abs(place);
  if (place >= extent) place = 2 * (extent - 1) - place;
  return min(max(place, 0), extent - 1);
}

// An odd sample becomes what the mean of its neighbours does not tell. The tile begins at an even one.
__device__ void predict(int* tile, int along, int across) {
  for (int i = threadIdx.x; i < (kTile / 2 + 1) * kSide; i += kThreads) {
    int* sample = tile + (2 * (i / kSide) + 1) * along + i % kSide * across;
    *sample -= (sample[-along] + sample[along]) >> 1;
  }
}

// An even sample becomes a local mean.
__device__ void update(int* tile, int along, int across) {
  for (int i = threadIdx.x; i < kTile / 2 * kSide; i += kThreads) {
    int* sample = tile + (2 * (i / kSide) + kBefore) * along + i % kSide * across;
    *sample += (sample[-along] + sample[along] + 2) >> 2;
  }
}

// Where a sample goes: the low half first.
__device__ int sorted(int place, int extent) { return place % 2 == 0 ? place / 2 : (extent + 1) / 2 + place / 2; }

extern "C" __global__ void dwt_2d(int* __restrict__ bands, const int* __restrict__ image, int rows, int columns) {
  __shared__ int tile[kSide * kPitch];
  int first_row = blockIdx.y * kTile, first_column = blockIdx.x * kTile;
  for (int i = threadIdx.x; i < kSide * kSide; i += kThreads) {
    int y = i / kSide, x = i % kSide;
    int row = mirrored(first_row + y - kBefore, rows), column = mirrored(first_column + x - kBefore, columns);
    tile[y * kPitch + x] = image[(size_t)row * columns + column];
  }
  __syncthreads();
  predict(tile, kAlongRow, kAlongColumn);
  __syncthreads();
  update(tile, kAlongRow, kAlongColumn);
  __syncthreads();
  predict(tile, kAlongColumn, kAlongRow);
  __syncthreads();
  update(tile, kAlongColumn, kAlongRow);
  __syncthreads();
  for (int i = threadIdx.x; i < kTile * kTile; i += kThreads) {
    int y = i / kTile, x = i % (kTile / 2) * 2 + i / (kTile / 2) % 2;  // half a row of each band
    int row = first_row + y, column = first_column + x;
    if (row >= rows || column >= columns) continue;
    int value = tile[(y + kBefore) * kPitch + x + kBefore];
    bands[(size_t)sorted(row, rows) * columns + sorted(column, columns)] = value;
  }
}
