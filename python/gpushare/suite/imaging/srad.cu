// SPDX-License-Identifier: Apache-2.0
// One step of speckle reducing anisotropic diffusion in two launches: srad_1 finds how freely each pixel may diffuse,
// srad_2 lets it. Blocks hold a tile of 16x16 in shared memory; beyond the image its border continues.
// Products that go into sums are rounded on their own (no fused multiply-add), so that any IEEE machine finds the same.

constexpr int kTile = 16;

__device__ float squared(float x) { return __fmul_rn(x, x); }

extern "C" __global__ void srad_1(float* __restrict__ coefficients, float* __restrict__ north,
                                  float* __restrict__ south, float* __restrict__ west, float* __restrict__ east,
                                  const float* __restrict__ image, float speckle, int rows, int columns) {
  __shared__ float tile[kTile][kTile];
  int x = threadIdx.x, y = threadIdx.y;
  int column = blockIdx.x * kTile + x, row = blockIdx.y * kTile + y;
  bool is_inside = row < rows && column < columns;
  size_t place = (size_t)row * columns + column;
  if (is_inside) tile[y][x] = image[place];
  __syncthreads();
  if (!is_inside) return;
  float own = tile[y][x];
  float above = row == 0 ? own : y > 0 ? tile[y - 1][x] : image[place - columns];
  float below = row == rows - 1 ? own : y < kTile - 1 ? tile[y + 1][x] : image[place + columns];
  float left = column == 0 ? own : x > 0 ? tile[y][x - 1] : image[place - 1];
  float right = column == columns - 1 ? own : x < kTile - 1 ? tile[y][x + 1] : image[place + 1];
  float to_north = above - own, to_south = below - own, to_west = left - own, to_east = right - own;

  float steepness =
      __fadd_rn(__fadd_rn(__fadd_rn(squared(to_north), squared(to_south)), squared(to_west)), squared(to_east)) /
      squared(own);
  float curvature = (to_north + to_south + to_west + to_east) / own;
  // Scaling by a power of two does not round.
  float variation = __fsub_rn(0.5f * steepness, 0.0625f * squared(curvature)) / squared(1.0f + 0.25f * curvature);
  float excess = (variation - speckle) / __fmul_rn(speckle, 1.0f + speckle);
  coefficients[place] = fminf(fmaxf(1.0f / (1.0f + excess), 0.0f), 1.0f);
  north[place] = to_north;
  south[place] = to_south;
  west[place] = to_west;
  east[place] = to_east;
}

extern "C" __global__ void srad_2(float* __restrict__ image, const float* __restrict__ coefficients,
                                  const float* __restrict__ north, const float* __restrict__ south,
                                  const float* __restrict__ west, const float* __restrict__ east, float rate, int rows,
                                  int columns) {
  __shared__ float tile[kTile][kTile];
  int x = threadIdx.x, y = threadIdx.y;
  int column = blockIdx.x * kTile + x, row = blockIdx.y * kTile + y;
  bool is_inside = row < rows && column < columns;
  size_t place = (size_t)row * columns + column;
  if (is_inside) tile[y][x] = coefficients[place];
  __syncthreads();
  if (!is_inside) return;
  float own = tile[y][x];
  float below = row == rows - 1 ? own : y < kTile - 1 ? tile[y + 1][x] : coefficients[place + columns];
  float right = column == columns - 1 ? own : x < kTile - 1 ? tile[y][x + 1] : coefficients[place + 1];
  float divergence = __fadd_rn(__fmul_rn(own, north[place]), __fmul_rn(below, south[place]));
  divergence = __fadd_rn(divergence, __fmul_rn(own, west[place]));
  divergence = __fadd_rn(divergence, __fmul_rn(right, east[place]));
  image[place] = __fadd_rn(image[place], __fmul_rn(0.25f * rate, divergence));
}
