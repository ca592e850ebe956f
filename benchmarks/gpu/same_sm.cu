// SPDX-License-Identifier: Apache-2.0
// Two kernels that never end on the same SMs: which of them does an SM serve first? CUDA alone, without gpushare.
//
//   nvcc -O3 -std=c++20 -o same_sm benchmarks/gpu/same_sm.cu && ./same_sm
//
// `stream` is bound by memory, `arithmetic` by issue slots. Each line: so many blocks per SM of both, and their speeds
// relative to eight blocks alone, for four histories: who was launched first, and what becomes of it when one of them
// is stopped and launched again into the place that it had.
#include <cuda_runtime.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <numeric>

#define CHECK(call)                                                                       \
  do {                                                                                    \
    if (const cudaError_t error = (call); error != cudaSuccess) {                         \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error)); \
      std::exit(1);                                                                       \
    }                                                                                     \
  } while (false)

constexpr int threads = 256;
constexpr int most_blocks = 2048;
constexpr std::size_t vectors = 100'000'000;
constexpr double settle_ms = 2;
constexpr double window_ms = 8;

/// What a kernel and the host share: when to stop, and how far every block has come.
struct Progress {
  volatile int stop;
  volatile unsigned rounds[most_blocks];
};

__global__ void __launch_bounds__(threads, 8) stream(const float4* a, const float4* b, float4* c, Progress* progress) {
  unsigned round = 0;
  for (std::size_t i = std::size_t{blockIdx.x} * threads + threadIdx.x; !progress->stop; i += gridDim.x * threads) {
    const std::size_t at = i % vectors;
    c[at] = make_float4(a[at].x + 3 * b[at].x, a[at].y + 3 * b[at].y, a[at].z + 3 * b[at].z, a[at].w + 3 * b[at].w);
    if (threadIdx.x == 0) progress->rounds[blockIdx.x] = ++round;
  }
}

__global__ void __launch_bounds__(threads, 8) arithmetic(float* out, Progress* progress) {
  __shared__ float4 tile[threads];
  tile[threadIdx.x] = make_float4(threadIdx.x, 1.0001f, 0.5f, 2.0f);
  __syncthreads();
  float x = threadIdx.x, y = 0.5f, z = 2.0f;
  unsigned round = 0;
  while (!progress->stop) {
#pragma unroll 8
    for (int i = 0; i < threads; ++i) {
      const float4 other = tile[i];
      x = x * 1.0001f + other.x;
      y = y * y + other.y;
      z = z * x + other.z;
      x += rsqrtf(z * z + 1) * other.w;
    }
    if (threadIdx.x == 0) progress->rounds[blockIdx.x] = ++round;
  }
  out[blockIdx.x * threads + threadIdx.x] = x + y + z;
}

void wait(double ms) {
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count() < ms) {
  }
}

/// One of the two kernels, on a stream of its own.
class Looping {
 public:
  template <typename Launch>
  explicit Looping(cudaStream_t control, Launch launch) : control_(control), launch_(launch) {
    CHECK(cudaMalloc(&progress_, sizeof(Progress)));
    CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }
  void start(int blocks) {
    CHECK(cudaMemsetAsync(progress_, 0, sizeof(Progress), control_));
    CHECK(cudaStreamSynchronize(control_));
    launch_(blocks, stream_, progress_);
    CHECK(cudaGetLastError());
    wait(settle_ms);
  }
  void stop() {
    const int yes = 1;
    CHECK(cudaMemcpyAsync(progress_, &yes, sizeof yes, cudaMemcpyHostToDevice, control_));
    CHECK(cudaStreamSynchronize(stream_));
  }
  /// Rounds of all blocks so far.
  double rounds() const {
    static std::array<unsigned, most_blocks> seen;
    const auto* first = reinterpret_cast<const char*>(progress_) + offsetof(Progress, rounds);
    CHECK(cudaMemcpyAsync(seen.data(), first, sizeof seen, cudaMemcpyDeviceToHost, control_));
    CHECK(cudaStreamSynchronize(control_));
    return std::accumulate(seen.begin(), seen.end(), 0.0);
  }

 private:
  cudaStream_t control_;
  cudaStream_t stream_{};
  void (*launch_)(int, cudaStream_t, Progress*);
  Progress* progress_ = nullptr;
};

float4 *a, *b, *c;
float* out;

/// Rounds of both within the window.
std::array<double, 2> speeds(const Looping& first, const Looping& second) {
  const std::array before{first.rounds(), second.rounds()};
  wait(window_ms);
  return {first.rounds() - before[0], second.rounds() - before[1]};
}

int main() {
  for (float4** array : {&a, &b, &c}) CHECK(cudaMalloc(array, vectors * sizeof(float4)));
  CHECK(cudaMalloc(&out, most_blocks * threads * sizeof(float)));
  int sms = 0;
  CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
  // Kernels that split L1 and shared memory in different ways are never on an SM together.
  CHECK(cudaFuncSetAttribute(stream, cudaFuncAttributePreferredSharedMemoryCarveout, 44));
  CHECK(cudaFuncSetAttribute(arithmetic, cudaFuncAttributePreferredSharedMemoryCarveout, 44));
  cudaStream_t control;
  CHECK(cudaStreamCreateWithFlags(&control, cudaStreamNonBlocking));
  Looping memory(control, [](int blocks, cudaStream_t on, Progress* progress) {
    stream<<<blocks, threads, 0, on>>>(a, b, c, progress);
  });
  Looping issue(control, [](int blocks, cudaStream_t on, Progress* progress) {
    arithmetic<<<blocks, threads, 0, on>>>(out, progress);
  });

  std::array<double, 2> alone{};
  memory.start(8 * sms);
  alone[0] = speeds(memory, memory)[0];
  memory.stop();
  issue.start(8 * sms);
  alone[1] = speeds(issue, issue)[0];
  issue.stop();
  const auto print = [&](const char* history) {
    const auto [first, second] = speeds(memory, issue);
    std::printf("  %-28s %.3f + %.3f = %.3f\n", history, first / alone[0], second / alone[1],
                first / alone[0] + second / alone[1]);
  };
  for (const auto [streams, arithmetics] : {std::pair{2, 5}, {2, 3}, {4, 4}}) {
    std::printf("%d blocks of stream and %d of arithmetic per SM\n", streams, arithmetics);
    memory.start(streams * sms);
    issue.start(arithmetics * sms);
    print("stream first");
    memory.stop();
    memory.start(streams * sms);
    print("stream launched again");
    issue.stop();
    issue.start(arithmetics * sms);
    print("arithmetic launched again");
    memory.stop();
    issue.stop();
    issue.start(arithmetics * sms);
    memory.start(streams * sms);
    print("arithmetic first");
    memory.stop();
    issue.stop();
  }
}
