// SPDX-License-Identifier: Apache-2.0
// Escape times of the Mandelbrot set, one pixel per thread: how long a block takes depends on where it lies.
// Every operation is rounded on its own (no fused multiply-add), so that any IEEE machine counts the same.

extern "C" __global__ void mandelbrot(int* __restrict__ counts, float left, float top, float step, int rows,
                                      int columns, int limit) {
  int column = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= rows || column >= columns) return;
  float cx = __fadd_rn(left, __fmul_rn((float)column, step));
  float cy = __fadd_rn(top, __fmul_rn((float)row, step));
  float x = 0.0f, y = 0.0f, xx = 0.0f, yy = 0.0f;
  int count = 0;
  while (count < limit && __fadd_rn(xx, yy) <= 4.0f) {
    y = __fadd_rn(__fmul_rn(__fadd_rn(x, x), y), cy);
    x = __fadd_rn(__fsub_rn(xx, yy), cx);
    xx = __fmul_rn(x, x);
    yy = __fmul_rn(y, y);
    ++count;
  }
  counts[(size_t)row * columns + column] = count;
}
