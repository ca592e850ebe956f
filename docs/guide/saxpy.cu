// SPDX-License-Identifier: Apache-2.0
// y += a x, for floats and doubles.

template <typename Number>
__global__ void saxpy(Number* y, const Number* x, Number a, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] += a * x[i];
}
