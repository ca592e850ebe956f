// SPDX-License-Identifier: Apache-2.0
// Programs of copies in, kernels of the suite, and copies out, by the runtime's API alone:
//
//   ordered NAME pinned|pageable MEGABYTES_IN MEGABYTES_OUT LAUNCHES
//
// It prints a JSON line when it is ready, and one for each line of its input: "alone" measures its three parts, "go"
// runs them without waiting in between, and "seconds S N" does so again and again for S seconds; N is ignored. Moments
// are nanoseconds of CLOCK_MONOTONIC.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "finance/black_scholes.cu"
#include "imaging/mandelbrot.cu"
#include "linear_algebra/gesummv.cu"
#include "particles/nbody.cu"
#include "primitives/triad.cu"
#include "stencils/stencil_2d.cu"

static void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
  std::exit(1);
}

static long long now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

struct Floats {
  float* host = nullptr;
  float* device = nullptr;
  std::size_t count = 0;
  std::size_t bytes() const { return count * sizeof(float); }
};

static Floats floats(double megabytes, bool is_pinned) {
  Floats made;
  made.count = static_cast<std::size_t>(megabytes * 1e6 / sizeof(float)) / 1024 * 1024 + 1024;
  if (is_pinned) {
    check(cudaMallocHost(&made.host, made.bytes()));
  } else {
    made.host = static_cast<float*>(std::malloc(made.bytes()));
  }
  check(cudaMalloc(&made.device, made.bytes()));
  for (std::size_t at = 0; at < made.count; ++at) made.host[at] = 1.0f + static_cast<float>(at % 1000) / 1000;
  return made;
}

static dim3 blocks_of(std::size_t items, int threads) {
  return dim3(static_cast<unsigned>((items + threads - 1) / threads));
}

/// Reads of `in` and writes of `out` what there is of both.
static void launch(const std::string& name, const Floats& in, const Floats& out) {
  const int side = 2048;
  const int rows = static_cast<int>(std::min(in.count, out.count) / side);
  const dim3 tiles(side / 32, (static_cast<unsigned>(rows) + 7) / 8);
  if (name == "black_scholes") {
    const int count = static_cast<int>(std::min(in.count / 3, out.count / 2));
    black_scholes<<<blocks_of(count, 256), 256>>>(out.device, out.device + count, in.device, in.device + count,
                                                  in.device + 2 * count, 0.02f, 0.3f, count);
  } else if (name == "triad") {
    const int count = static_cast<int>(std::min(in.count / 2, out.count));
    triad<<<blocks_of(count, 256), 256>>>(out.device, in.device, in.device + count, 3.0f, count);
  } else if (name == "stencil_2d") {
    stencil_2d<<<tiles, dim3(32, 8)>>>(out.device, in.device, rows, side);
  } else if (name == "mandelbrot") {
    const int all = static_cast<int>(out.count / side);
    mandelbrot<<<dim3(side / 32, (all + 7) / 8), dim3(32, 8)>>>(reinterpret_cast<int*>(out.device), -2.0f, -1.5f,
                                                                3.0f / side, all, side, 200);
  } else if (name == "nbody") {
    const int targets = static_cast<int>(std::min(in.count, out.count) / 4);
    const int sources = std::min(targets, 4096);
    const auto* bodies = reinterpret_cast<const float4*>(in.device);
    nbody<<<blocks_of(targets, kTile), kTile>>>(reinterpret_cast<float4*>(out.device), bodies, bodies, 0.01f, targets,
                                                sources);
  } else {
    const int columns = static_cast<int>(in.count / 2 / out.count);
    const int all = static_cast<int>(out.count);
    gesummv<<<blocks_of(all, 128), 128>>>(out.device, in.device, in.device + in.count / 2, in.device, 1.5f, 0.5f, all,
                                          columns);
  }
  check(cudaGetLastError());
}

struct Task {
  std::string name;
  bool is_pinned;
  Floats in;
  Floats out;
  int launches;

  void copy_in() const {
    is_pinned ? check(cudaMemcpyAsync(in.device, in.host, in.bytes(), cudaMemcpyHostToDevice, nullptr))
              : check(cudaMemcpy(in.device, in.host, in.bytes(), cudaMemcpyHostToDevice));
  }
  void compute() const {
    for (int number = 0; number < launches; ++number) launch(name, in, out);
  }
  void copy_out() const { check(cudaMemcpy(out.host, out.device, out.bytes(), cudaMemcpyDeviceToHost)); }
  void forget() const { std::memset(out.host, 0, out.bytes()); }

  std::uint64_t checksum() const {
    const auto* words = reinterpret_cast<const std::uint32_t*>(out.host);
    std::uint64_t sum = 0;
    for (std::size_t at = 0; at < out.count; ++at) sum += words[at] * (at % 8191 + 1);
    return sum;
  }
};

static void tell_alone(const Task& task) {
  long long moments[4];
  moments[0] = now_ns();
  task.copy_in();
  check(cudaDeviceSynchronize());
  moments[1] = now_ns();
  task.compute();
  check(cudaDeviceSynchronize());
  moments[2] = now_ns();
  task.copy_out();
  moments[3] = now_ns();
  std::printf("{\"to_device_ns\": %lld, \"kernels_ns\": %lld, \"to_host_ns\": %lld}\n", moments[1] - moments[0],
              moments[2] - moments[1], moments[3] - moments[2]);
}

/// Results are forgotten before the next run, so that this one's cannot be taken for its.
static void tell_run(const Task& task) {
  const long long begin = now_ns();
  task.copy_in();
  task.compute();
  task.copy_out();
  const long long end = now_ns();
  const std::uint64_t sum = task.checksum();
  task.forget();
  std::printf("{\"begin_ns\": %lld, \"end_ns\": %lld, \"checksum\": %llu}\n", begin, end,
              static_cast<unsigned long long>(sum));
}

static void tell_repeated(const Task& task, double seconds) {
  const long long begin = now_ns();
  int runs = 0;
  long long end = begin;
  for (; static_cast<double>(end - begin) < seconds * 1e9; end = now_ns(), ++runs) {
    task.copy_in();
    task.compute();
    task.copy_out();
  }
  std::printf("{\"runs\": %d, \"seconds\": %.6f}\n", runs, static_cast<double>(end - begin) / 1e9);
}

int main(int count, char** words) {
  if (count != 6) return 2;
  const bool is_pinned = std::string(words[2]) == "pinned";
  const Task task{words[1], is_pinned, floats(std::atof(words[3]), is_pinned), floats(std::atof(words[4]), is_pinned),
                  std::atoi(words[5])};
  std::printf("{\"program\": \"%s\"}\n", words[1]);
  std::fflush(stdout);
  char line[64];
  while (std::scanf(" %63s", line) == 1) {
    const std::string word(line);
    double seconds = 0;
    if (word == "alone") {
      tell_alone(task);
    } else if (word == "seconds" && std::scanf(" %lf %*d", &seconds) == 1) {
      tell_repeated(task, seconds);
    } else {
      tell_run(task);
    }
    std::fflush(stdout);
  }
}
