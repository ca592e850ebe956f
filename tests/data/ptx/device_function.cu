// SPDX-License-Identifier: Apache-2.0
// A function that is not inlined reads the block index, and one is called through a pointer.
struct Pair {
  int low, high;
};

__device__ __noinline__ int global_index(int stride) { return blockIdx.x * blockDim.x * stride + threadIdx.x; }
__device__ __noinline__ Pair split(int value, Pair add, int* spill) {
  int digits[4];
  for (int k = 0; k < 4; ++k) digits[k] = value >> (8 * k) & 255;
  *spill = digits[value & 3];
  return {digits[0] + add.low, digits[1] + add.high + static_cast<int>(gridDim.x)};
}
__device__ int twice(int x) { return 2 * x; }
__device__ int square(int x) { return x * x; }
__device__ int (*const choices[2])(int) = {twice, square};

extern "C" __global__ void device_function(const int* in, int* out, int n) {
  const int i = global_index(1);
  if (i >= n) return;
  int spilled = 0;
  const Pair pair = split(in[i], Pair{i, static_cast<int>(blockIdx.x)}, &spilled);
  out[i] = choices[in[i] & 1](pair.low) + 1000 * pair.high + spilled;
}
