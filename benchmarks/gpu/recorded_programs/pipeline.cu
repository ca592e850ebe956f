// SPDX-License-Identifier: Apache-2.0
// A CUDA program that knows nothing of gpushare, for benchmarks/gpu/record.py: rounds of copy in, some kernels, copy
// out, and work on the host, with one stream, pinned memory, and one copy from pageable memory. Prints the seconds of
// every round as a JSON list.
#include <cuda_runtime.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                  \
  do {                                                                               \
    const cudaError_t status = (call);                                               \
    if (status != cudaSuccess) {                                                     \
      std::fprintf(stderr, "pipeline: %s: %s\n", #call, cudaGetErrorString(status)); \
      return 1;                                                                      \
    }                                                                                \
  } while (false)

__global__ void saxpy(int count, float a, const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] += a * x[i];
}

/// Arithmetic alone.
__global__ void iterate(int count, int steps, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  float value = y[i];
  for (int step = 0; step < steps; ++step) value = value * 0.999f + 0.001f;
  y[i] = value;
}

__global__ void smooth(int count, const float* in, float* out) {
  extern __shared__ float tile[];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = i < count ? in[i] : 0;
  __syncthreads();
  const float left = threadIdx.x > 0 ? tile[threadIdx.x - 1] : tile[0];
  if (i < count) out[i] = 0.5f * (left + tile[threadIdx.x]);
}

int main(int argc, char** argv) {
  using Clock = std::chrono::steady_clock;
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 20;
  constexpr int count = 1 << 23;
  constexpr std::size_t bytes = count * sizeof(float);
  constexpr int block = 256;
  constexpr int grid = (count + block - 1) / block;
  float *x = nullptr, *y = nullptr, *z = nullptr, *pinned = nullptr;
  CHECK(cudaMalloc(&x, bytes));
  CHECK(cudaMalloc(&y, bytes));
  CHECK(cudaMalloc(&z, bytes));
  CHECK(cudaMallocHost(&pinned, bytes));
  std::vector<float> pageable(count / 8, 1.0f);
  for (int i = 0; i < count; ++i) pinned[i] = static_cast<float>(i % 7);
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  std::printf("[");
  for (int round = 0; round < rounds; ++round) {
    const auto start = Clock::now();
    CHECK(cudaMemcpyAsync(x, pinned, bytes, cudaMemcpyHostToDevice, stream));
    CHECK(cudaMemcpyAsync(y, pageable.data(), pageable.size() * sizeof(float), cudaMemcpyHostToDevice, stream));
    for (int repeat = 0; repeat < 4; ++repeat) {
      saxpy<<<grid, block, 0, stream>>>(count, 0.5f, x, y);
      iterate<<<grid, block, 0, stream>>>(count, 200, y);
      smooth<<<grid, block, block * sizeof(float), stream>>>(count, y, z);
    }
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyAsync(pinned, z, bytes / 4, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    double sum = 0;  // what a program does with what it has computed
    for (int i = 0; i < count / 4; ++i) sum += pinned[i];
    pageable[0] = static_cast<float>(sum * 1e-9);
    const std::chrono::duration<double> time = Clock::now() - start;
    std::printf("%s%.9f", round > 0 ? ", " : "", time.count());
  }
  std::printf("]\n");
  return 0;
}
