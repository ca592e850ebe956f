// SPDX-License-Identifier: Apache-2.0
// The first threads find the maximum of a warp each, and wait for one another by a mask that is worked out.
extern "C" __global__ void row_maxima(const int* in, int* distances, int n) {
  __shared__ int found[128];
  const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  const int own = i < n ? in[i] : 0;
  found[t] = own;
  __syncthreads();
  const int warps = blockDim.x / 32;
  if (t < warps) {
    int most = 0;
#pragma unroll 1
    for (int lane = 0; lane < 32; ++lane) most = max(most, found[t * 32 + lane]);
    __syncwarp((1u << warps) - 1);
    found[t] = most;
  }
  __syncthreads();
  int most = 0;
#pragma unroll 1
  for (int warp = 0; warp < warps; ++warp) most = max(most, found[warp]);
  if (i < n) distances[i] = most - own;
}
