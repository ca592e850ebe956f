// SPDX-License-Identifier: Apache-2.0
// Philox4x32-10 random numbers (Salmon et al. 2011), four per thread, on a 3-D grid. The counter is the place of the
// thread in the grid; the functions that read it are not inlined, so blockIdx and gridDim are read outside the kernel.

constexpr int kRounds = 10;

__device__ __noinline__ uint4 counter_of_thread() {
  return make_uint4(threadIdx.x, blockIdx.x, blockIdx.y, blockIdx.z);
}

__device__ __noinline__ size_t number_of_thread() {
  size_t block = ((size_t)blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  return block * blockDim.x + threadIdx.x;
}

__device__ uint4 philox_round(uint4 counter, unsigned int key_low, unsigned int key_high) {
  constexpr unsigned int kMultiplier0 = 0xD2511F53u, kMultiplier1 = 0xCD9E8D57u;
  return make_uint4(__umulhi(kMultiplier1, counter.z) ^ counter.y ^ key_low, kMultiplier1 * counter.z,
                    __umulhi(kMultiplier0, counter.x) ^ counter.w ^ key_high, kMultiplier0 * counter.x);
}

extern "C" __global__ void philox_random(uint4* __restrict__ numbers, unsigned int key_low, unsigned int key_high) {
  uint4 counter = counter_of_thread();
#pragma unroll
  for (int round = 0; round < kRounds; ++round) {
    counter = philox_round(counter, key_low, key_high);
    key_low += 0x9E3779B9u;   // the golden ratio
    key_high += 0xBB67AE85u;  // the square root of 3, less 1
  }
  numbers[number_of_thread()] = counter;
}
