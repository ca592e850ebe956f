// SPDX-License-Identifier: Apache-2.0
// Launches small kernels of some shapes, and prints the median time of a launch on the host: a JSON line for each line
// of the input, such as "steps 10", which is a number of batches. The GPU is waited for between batches, and a batch
// fits into its queue, so that no launch waits.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

constexpr int launches_per_batch = 500;
constexpr int shapes = 50;

__global__ void add_one(int* values) { values[threadIdx.x] += 1; }

static double ns_per_launch(int* values) {
  const auto began = std::chrono::steady_clock::now();
  for (int launch = 0; launch < launches_per_batch; ++launch) add_one<<<1 + launch % shapes, 32>>>(values);
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - began;
  cudaDeviceSynchronize();
  return took.count() / launches_per_batch;
}

int main() {
  int* values = nullptr;
  if (cudaMalloc(&values, 32 * sizeof(int)) != cudaSuccess) return 1;
  ns_per_launch(values);
  std::printf("{\"launches\": %d}\n", launches_per_batch);
  std::fflush(stdout);
  int batches = 0;
  while (std::scanf(" steps %d", &batches) == 1) {
    std::vector<double> found;
    for (int batch = 0; batch < batches; ++batch) found.push_back(ns_per_launch(values));
    std::sort(found.begin(), found.end());
    std::printf("{\"launches\": %d, \"ns\": %.1f}\n", batches * launches_per_batch,
                found[static_cast<std::size_t>(batches) / 2]);
    std::fflush(stdout);
  }
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
