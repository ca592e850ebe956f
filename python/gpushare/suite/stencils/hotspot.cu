// SPDX-License-Identifier: Apache-2.0
// Heat on a chip: a block computes several time steps on a tile of 16x16 in shared memory. With each step the part of
// the tile that is right shrinks by one cell on every side; tiles overlap by as much, so that nothing is missing.
// Products that go into sums are rounded on their own (no fused multiply-add), so that any IEEE machine finds the same.

constexpr int kTile = 16;

// How much of the difference flows: to the east and west neighbours, to the north and south ones, to the air, and what
// a step adds for a watt.
struct Chip {
  float across, down, upward, heating, ambient;
};

__device__ int clamped(int place, int extent) { return min(max(place, 0), extent - 1); }

__device__ float next_temperature(float own, float north, float south, float west, float east, float power, Chip chip) {
  float vertical = __fmul_rn(north + south - 2.0f * own, chip.down);
  float horizontal = __fmul_rn(west + east - 2.0f * own, chip.across);
  float loss = __fmul_rn(chip.ambient - own, chip.upward);
  float change = __fadd_rn(__fadd_rn(__fadd_rn(power, vertical), horizontal), loss);
  return __fadd_rn(own, __fmul_rn(change, chip.heating));
}

extern "C" __global__ void hotspot(float* __restrict__ after, const float* __restrict__ before,
                                   const float* __restrict__ power, int steps, float across, float down, float upward,
                                   float heating, float ambient, int rows, int columns) {
  __shared__ float tiles[2][kTile][kTile];
  Chip chip = {across, down, upward, heating, ambient};
  int x = threadIdx.x, y = threadIdx.y, kept = kTile - 2 * steps;
  int row = (int)blockIdx.y * kept - steps + y, column = (int)blockIdx.x * kept - steps + x;
  size_t place = (size_t)clamped(row, rows) * columns + clamped(column, columns);
  float own = before[place], own_power = power[place];
  // Beyond the chip its border continues: there a neighbour is the cell itself.
  int north = row <= 0 ? y : max(y - 1, 0), south = row >= rows - 1 ? y : min(y + 1, kTile - 1);
  int west = column <= 0 ? x : max(x - 1, 0), east = column >= columns - 1 ? x : min(x + 1, kTile - 1);
  for (int step = 0; step < steps; ++step) {
    float (*tile)[kTile] = tiles[step % 2];
    tile[y][x] = own;
    __syncthreads();
    own = next_temperature(own, tile[north][x], tile[south][x], tile[y][west], tile[y][east], own_power, chip);
  }
  bool is_right = min(x, y) >= steps && max(x, y) < kTile - steps;
  if (is_right && row < rows && column < columns) after[place] = own;
}
