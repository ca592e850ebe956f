// SPDX-License-Identifier: Apache-2.0
// All data in variables of the module.
__device__ int input[256] = {3, 1, 4, 1, 5, 9, 2, 6};
__device__ int output[256];
__device__ int* cursor = input + 2;
__constant__ int factors[4] = {1, 10, 100, 1000};
__device__ unsigned finished;

extern "C" __global__ void no_parameters() {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  output[i] = input[i] * factors[i & 3] + *cursor;
  atomicInc(&finished, 0xffffffffu);
}
