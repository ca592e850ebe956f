// SPDX-License-Identifier: Apache-2.0
// Long kernels of several kinds, each of which changes what it has found, so that a block that is left out or runs twice
// shows in the result. For each line "rounds N" of the input it runs all of them so often, and prints a JSON line: a
// hash of all memory, and the mean milliseconds of each kernel. Nothing in it knows of gpushare.
//
//   nvcc -O3 -gencode arch=compute_90,code=[sm_90,compute_90] -o workers benchmarks/programs/workers.cu
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

constexpr int side = 2048;
constexpr int tile = 32;
constexpr int numbers = 1 << 22;
constexpr int threads = 256;
constexpr int blocks = numbers / threads;
constexpr int bins = 256;

struct Coefficients {
  std::uint32_t factor;
  std::uint32_t summand;
};

__device__ unsigned long long blocks_run;
__managed__ unsigned warps_run;
__constant__ std::uint32_t seasoning[4] = {1, 3, 5, 7};

/// Static shared memory, barriers in a loop, two dimensions.
__global__ void matrix_product(const float* a, const float* b, float* c) {
  __shared__ float of_a[tile][tile];
  __shared__ float of_b[tile][tile];
  const int row = blockIdx.y * tile + threadIdx.y;
  const int column = blockIdx.x * tile + threadIdx.x;
  float sum = c[row * side + column] * 0.5f;
  for (int step = 0; step < side; step += tile) {
    of_a[threadIdx.y][threadIdx.x] = a[row * side + step + threadIdx.x];
    of_b[threadIdx.y][threadIdx.x] = b[(step + threadIdx.y) * side + column];
    __syncthreads();
    for (int k = 0; k < tile; ++k) sum = fmaf(of_a[threadIdx.y][k], of_b[k][threadIdx.x], sum);
    __syncthreads();
  }
  c[row * side + column] = sum;
}

/// Parameters by value, a template, constant memory, and an early return.
template <class Number>
__global__ void iterate(Number* values, Coefficients with, int count, int rounds) {
  const int index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index >= count) return;
  Number value = values[index];
  for (int round = 0; round < rounds; ++round) value = value * with.factor + with.summand + seasoning[value & 3];
  values[index] = value;
}

/// Variables in device and managed memory, atomics.
__global__ void count(std::uint32_t* values, unsigned* histogram) {
  const int index = blockIdx.x * blockDim.x + threadIdx.x;
  std::uint32_t value = values[index];
  for (int round = 0; round < 400; ++round) {
    value = value * 1664525u + 1013904223u;
    if (round % 100 == 0) atomicAdd(&histogram[value >> 24], 1u);
  }
  values[index] = value;
  if (threadIdx.x == 0) atomicAdd(&blocks_run, 1ull);
  if (threadIdx.x % 32 == 0) atomicAdd(&warps_run, 1u);
}

/// Dynamic shared memory.
__global__ void blur(float* values, int rounds) {
  extern __shared__ float room[];
  const int index = blockIdx.x * blockDim.x + threadIdx.x;
  room[threadIdx.x] = values[index];
  for (int round = 0; round < rounds; ++round) {
    __syncthreads();
    const float left = room[(threadIdx.x + blockDim.x - 1) % blockDim.x];
    const float right = room[(threadIdx.x + 1) % blockDim.x];
    const float own = room[threadIdx.x];
    __syncthreads();
    room[threadIdx.x] = fmaf(0.25f, left + right, 0.5f * own);
  }
  values[index] = room[threadIdx.x];
}

/// Blocks that wait for earlier ones: a prefix sum in one pass. `states`: 0; the sum behind it, with bit 63 set.
__global__ void scan(std::uint32_t* values, volatile unsigned long long* states) {
  __shared__ unsigned long long before;
  __shared__ std::uint32_t sums[threads];
  const int index = blockIdx.x * threads + threadIdx.x;
  sums[threadIdx.x] = values[index];
  for (int distance = 1; distance < threads; distance *= 2) {
    __syncthreads();
    const std::uint32_t other = threadIdx.x >= distance ? sums[threadIdx.x - distance] : 0;
    __syncthreads();
    sums[threadIdx.x] += other;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned long long found = 1ull << 63;
    if (blockIdx.x > 0) {
      while ((found = states[blockIdx.x - 1]) >> 63 == 0) {
      }
    }
    before = found;
    states[blockIdx.x] = (static_cast<std::uint32_t>(found) + sums[threads - 1]) | 1ull << 63;
    __threadfence();
  }
  __syncthreads();
  values[index] = static_cast<std::uint32_t>(before) + sums[threadIdx.x];
}

template <class Number>
static Number* filled(int count, Number (*value)(int)) {
  std::vector<Number> host(count);
  for (int index = 0; index < count; ++index) host[index] = value(index);
  Number* found = nullptr;
  cudaMalloc(&found, count * sizeof(Number));
  cudaMemcpy(found, host.data(), count * sizeof(Number), cudaMemcpyHostToDevice);
  return found;
}

static void add(std::uint64_t& hash, const void* on_device, std::size_t bytes) {
  std::vector<std::uint32_t> host(bytes / 4);
  cudaMemcpy(host.data(), on_device, bytes, cudaMemcpyDeviceToHost);
  for (const std::uint32_t word : host) hash = (hash ^ word) * 0x100000001b3;
}

struct Kernel {
  std::string name;
  std::function<void()> launch;
  double milliseconds = 0;
};

int main() {
  float* a = filled<float>(side * side, [](int index) { return static_cast<float>(index % 17) * 0.01f; });
  float* b = filled<float>(side * side, [](int index) { return static_cast<float>(index % 13) * 0.01f; });
  float* c = filled<float>(side * side, [](int) { return 0.0f; });
  float* blurred = filled<float>(numbers, [](int index) { return static_cast<float>(index % 1009); });
  auto* values = filled<std::uint32_t>(numbers, [](int index) { return static_cast<std::uint32_t>(index); });
  auto* counted = filled<std::uint32_t>(numbers, [](int index) { return static_cast<std::uint32_t>(index * 7); });
  auto* scanned = filled<std::uint32_t>(numbers, [](int index) { return static_cast<std::uint32_t>(index % 5); });
  auto* histogram = filled<unsigned>(bins, [](int) { return 0u; });
  auto* states = filled<unsigned long long>(blocks, [](int) { return 0ull; });
  std::vector<Kernel> kernels = {
      {"matrix_product", [=] { matrix_product<<<dim3(side / tile, side / tile), dim3(tile, tile)>>>(a, b, c); }},
      {"iterate", [=] { iterate<<<blocks, threads>>>(values, Coefficients{1664525u, 1013904223u}, numbers - 100, 4000); }},
      {"count", [=] { count<<<blocks, threads>>>(counted, histogram); }},
      {"blur", [=] { blur<<<blocks, threads, threads * sizeof(float)>>>(blurred, 200); }},
      {"scan", [=] {
         cudaMemsetAsync(states, 0, blocks * sizeof *states);
         scan<<<blocks, threads>>>(scanned, states);
       }},
  };
  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  std::printf("{\"ready\": %s}\n", cudaDeviceSynchronize() == cudaSuccess ? "true" : "false");
  std::fflush(stdout);
  int rounds = 0;
  while (std::scanf(" rounds %d", &rounds) == 1) {
    for (Kernel& each : kernels) each.milliseconds = 0;
    for (int round = 0; round < rounds; ++round) {
      for (Kernel& each : kernels) {
        cudaEventRecord(begin);
        each.launch();
        cudaEventRecord(end);
        cudaEventSynchronize(end);
        float milliseconds = 0;
        cudaEventElapsedTime(&milliseconds, begin, end);
        each.milliseconds += milliseconds / rounds;
      }
    }
    unsigned long long in_device = 0;
    std::uint64_t hash = 0xcbf29ce484222325;
    cudaMemcpyFromSymbol(&in_device, blocks_run, sizeof in_device);
    hash = ((hash ^ in_device) * 0x100000001b3 ^ warps_run) * 0x100000001b3;
    for (const float* each : {c, blurred}) add(hash, each, (each == c ? side * side : numbers) * sizeof *each);
    for (const std::uint32_t* each : {values, counted, scanned}) add(hash, each, numbers * sizeof *each);
    add(hash, histogram, bins * sizeof *histogram);
    std::printf("{\"hash\": \"%016llx\", \"error\": %d, \"ms\": {", static_cast<unsigned long long>(hash),
                static_cast<int>(cudaGetLastError()));
    const char* between = "";
    for (const Kernel& each : kernels) {
      std::printf("%s\"%s\": %.4f", between, each.name.c_str(), each.milliseconds);
      between = ", ";
    }
    std::printf("}}\n");
    std::fflush(stdout);
  }
  return 0;
}
