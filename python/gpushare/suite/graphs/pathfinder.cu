// SPDX-License-Identifier: Apache-2.0
// Cheapest paths down a grid of weights, several rows a launch: a block loads as many columns more on either side as it
// does rows, so that it needs no neighbour; each row makes one of them useless. The block size must be kThreads.

constexpr int kThreads = 256;
constexpr int kUnreachable = 0x7FFFFFFF;

extern "C" __global__ void pathfinder(int* __restrict__ costs_after, const int* __restrict__ costs_before,
                                      const int* __restrict__ weights, int rows, int columns) {
  __shared__ int costs[2][kThreads];
  int thread = threadIdx.x;
  int column = blockIdx.x * (kThreads - 2 * rows) + thread - rows;
  bool is_inside = column >= 0 && column < columns;
  int cost = is_inside ? costs_before[column] : kUnreachable;
  costs[0][thread] = cost;
  __syncthreads();
  for (int row = 0; row < rows; ++row) {
    const int* above = costs[row % 2];
    if (is_inside && thread > row && thread < kThreads - 1 - row) {
      cost = min(min(above[thread - 1], above[thread]), above[thread + 1]) + weights[(size_t)row * columns + column];
    }
    costs[(row + 1) % 2][thread] = cost;
    __syncthreads();
  }
  if (is_inside && thread >= rows && thread < kThreads - rows) costs_after[column] = cost;
}
