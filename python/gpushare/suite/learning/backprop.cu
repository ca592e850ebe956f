// SPDX-License-Identifier: Apache-2.0
// A layer of a neural network, both ways: forward, a block adds what 16 units contribute to 16 units of the next layer,
// by a tree in shared memory; backward, every weight moves against the error, with momentum, in place.

constexpr int kTile = 16;
constexpr float kRate = 0.25f;
constexpr float kMomentum = 0.5f;

// partial_sums has a row for every 16 inputs: the host adds the rows and applies the activation function.
extern "C" __global__ void backprop_forward(float* __restrict__ partial_sums, const float* __restrict__ inputs,
                                            const float* __restrict__ weights, int outputs) {
  __shared__ float input_tile[kTile];
  __shared__ float products[kTile][kTile];
  int x = threadIdx.x, y = threadIdx.y;
  int input = blockIdx.y * kTile + y, output = blockIdx.x * kTile + x;
  if (x == 0) input_tile[y] = inputs[input];
  __syncthreads();
  products[y][x] = weights[(size_t)input * outputs + output] * input_tile[y];
  __syncthreads();
  for (int distance = 1; distance < kTile; distance *= 2) {
    if (y % (2 * distance) == 0) products[y][x] += products[y + distance][x];
    __syncthreads();
  }
  if (y == 0) partial_sums[(size_t)blockIdx.y * outputs + output] = products[0][x];
}

extern "C" __global__ void backprop_adjust(float* __restrict__ weights, float* __restrict__ changes,
                                           const float* __restrict__ inputs, const float* __restrict__ errors,
                                           int outputs) {
  int input = blockIdx.y * kTile + threadIdx.y, output = blockIdx.x * kTile + threadIdx.x;
  size_t i = (size_t)input * outputs + output;
  float change = kRate * errors[output] * inputs[input] + kMomentum * changes[i];
  weights[i] += change;
  changes[i] = change;
}
