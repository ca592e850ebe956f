// SPDX-License-Identifier: Apache-2.0
// One step of Gaussian elimination, after Rodinia's Fan2: every row below the pivot loses its multiple of the pivot
// row, in place. The grid covers the whole matrix at every step, so the later the step, the more blocks return at once.

extern "C" __global__ void gaussian_fan2(float* __restrict__ matrix, float* __restrict__ right_side,
                                         const float* __restrict__ multipliers, int size, int pivot) {
  int column = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y + pivot + 1;
  if (row >= size) return;
  if (column < pivot || column >= size) return;
  float multiplier = multipliers[row];
  matrix[(size_t)row * size + column] -= multiplier * matrix[(size_t)pivot * size + column];
  if (column == pivot) right_side[row] -= multiplier * right_side[pivot];
}
