// SPDX-License-Identifier: Apache-2.0
// y = alpha A x + beta B x, one row of both matrices per thread: the rows are stored one after the other, so that the
// reads of a warp are a row apart and only the caches put the sectors to full use.

extern "C" __global__ void gesummv(float* __restrict__ y, const float* __restrict__ a, const float* __restrict__ b,
                                   const float* __restrict__ x, float alpha, float beta, int rows, int columns) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float a_sum = 0.0f, b_sum = 0.0f;
  for (int column = 0; column < columns; ++column) {
    a_sum += a[row * columns + column] * x[column];
    b_sum += b[row * columns + column] * x[column];
  }
  y[row] = alpha * a_sum + beta * b_sum;
}
