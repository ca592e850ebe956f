// SPDX-License-Identifier: Apache-2.0
// Threads leave between barriers, in parts of warps; the others go on exchanging values.
extern "C" __global__ void early_return(const int* in, int* out, int n) {
  __shared__ int slot[128];
  const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  slot[t] = i < n ? in[i] : 0;
  __syncthreads();
  if (i >= n) return;
  const int right = slot[(t + 1) % blockDim.x];
  __syncthreads();
  slot[t] += right;
  __syncthreads();
  out[i] = slot[t];
  if ((in[i] & 1) != 0) return;
  slot[t] = -slot[t];
  __syncthreads();
  out[i] += slot[(t + 7) % blockDim.x];
  if ((in[i] & 2) != 0) return;
  __syncthreads();
  out[i] += slot[(t + blockDim.x - 1) % blockDim.x];
}
