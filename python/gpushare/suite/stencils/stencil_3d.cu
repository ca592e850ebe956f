// SPDX-License-Identifier: Apache-2.0
// 7-point stencil on a 3-D grid of 3-D blocks: one Jacobi step of the heat equation; the border is copied.

extern "C" __global__ void stencil_3d(float* __restrict__ next, const float* __restrict__ now, float centre_weight,
                                      float neighbour_weight, int planes, int rows, int columns) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  int z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x >= columns || y >= rows || z >= planes) return;
  size_t row_step = columns, plane_step = (size_t)columns * rows;
  size_t i = z * plane_step + y * row_step + x;
  bool inside = x > 0 && x < columns - 1 && y > 0 && y < rows - 1 && z > 0 && z < planes - 1;
  if (!inside) {
    next[i] = now[i];
    return;
  }
  float neighbours =
      now[i - 1] + now[i + 1] + now[i - row_step] + now[i + row_step] + now[i - plane_step] + now[i + plane_step];
  next[i] = centre_weight * now[i] + neighbour_weight * neighbours;
}
