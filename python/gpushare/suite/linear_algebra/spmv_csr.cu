// SPDX-License-Identifier: Apache-2.0
// y = A x with A in compressed sparse rows, one row per thread: neighbouring threads loop over rows of uneven length.

extern "C" __global__ void spmv_csr(float* __restrict__ y, const int* __restrict__ row_offsets,
                                    const int* __restrict__ columns, const float* __restrict__ values,
                                    const float* __restrict__ x, int rows) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int i = row_offsets[row]; i < row_offsets[row + 1]; ++i) sum += values[i] * x[columns[i]];
  y[row] = sum;
}
