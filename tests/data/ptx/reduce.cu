// SPDX-License-Identifier: Apache-2.0
// Sums of blocks: a tree in shared memory.
extern "C" __global__ void reduce(const int* in, int* out, int n) {
  extern __shared__ int part[];
  const unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  part[t] = i < n ? in[i] : 0;
  __syncthreads();
  for (unsigned s = blockDim.x / 2; s > 0; s >>= 1) {
    if (t < s) part[t] += part[t + s];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = part[0];
}
