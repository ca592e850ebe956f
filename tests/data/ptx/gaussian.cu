// SPDX-License-Identifier: Apache-2.0
// One step of Gaussian elimination on a 2-D grid, after Rodinia's Fan2.
extern "C" __global__ void gaussian_fan2(const float* m, float* a, float* b, int size, int step) {
  if (threadIdx.x + blockIdx.x * blockDim.x >= size - 1 - step) return;
  if (threadIdx.y + blockIdx.y * blockDim.y >= size - step) return;
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  a[size * (x + 1 + step) + (y + step)] -= m[size * (x + 1 + step) + step] * a[size * step + (y + step)];
  if (y == 0) b[x + 1 + step] -= m[size * (x + 1 + step) + (y + step)] * b[step];
}
