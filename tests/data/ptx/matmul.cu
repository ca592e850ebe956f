// SPDX-License-Identifier: Apache-2.0
// Square matrices, tiles of 8 x 8 in shared memory.
extern "C" __global__ void matmul(const float* a, const float* b, float* c, int n) {
  __shared__ float left[8][8], right[8][8];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int row = blockIdx.y * 8 + ty, column = blockIdx.x * 8 + tx;
  float sum = 0;
  for (int t = 0; t < n; t += 8) {
    left[ty][tx] = row < n && t + tx < n ? a[row * n + t + tx] : 0.0f;
    right[ty][tx] = column < n && t + ty < n ? b[(t + ty) * n + column] : 0.0f;
    __syncthreads();
    for (int k = 0; k < 8; ++k) sum += left[ty][k] * right[k][tx];
    __syncthreads();
  }
  if (row < n && column < n) c[row * n + column] = sum;
}
