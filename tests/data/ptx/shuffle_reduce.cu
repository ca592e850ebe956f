// SPDX-License-Identifier: Apache-2.0
// Warps reduce by shuffles, then the first warp reduces what they found; counts by ballot.
extern "C" __global__ void shuffle_reduce(const int* in, int* sum, unsigned* odd, int n) {
  __shared__ int warps[32];
  const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  int value = i < n ? in[i] : 0;
  const unsigned votes = __ballot_sync(0xffffffffu, (value & 1) != 0);
  if ((t & 31) == 0) atomicAdd(odd, __popc(votes));
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_down_sync(0xffffffffu, value, distance);
  if ((t & 31) == 0) warps[t / 32] = value;
  __syncthreads();
  if (t >= 32) return;
  value = t < blockDim.x / 32 ? warps[t] : 0;
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(0xffffffffu, value, distance);
  if (t == 0) atomicAdd(sum, value);
}
