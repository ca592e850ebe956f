// SPDX-License-Identifier: Apache-2.0
// What src/intercept costs a launch, over a driver whose functions do nothing: the launch itself alone, with a lease
// that says go, and with one that limits. `kernels` are launched in turn, as programs have many. Behind other work, the
// driver takes 2 us for a launch.
#include <benchmark/benchmark.h>
#include <cuda.h>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "programs/program_page.hpp"

namespace gpushare {
namespace {

using programs::Lease;
using programs::LeaseState;
using programs::ProgramPage;
using LaunchKernel = decltype(&cuLaunchKernel);

void* opened(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  return library;
}

template <class Function>
Function found(void* library, const char* name) {
  void* symbol = dlsym(library, name);
  if (symbol == nullptr) throw std::runtime_error(dlerror());
  return reinterpret_cast<Function>(symbol);
}

/// In memory of its own, which the library finds by its variable.
ProgramPage& made_page() {
  const int file = memfd_create("gpushare-program", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, sizeof(ProgramPage)) != 0) throw std::runtime_error("no memory to share");
  void* memory = mmap(nullptr, sizeof(ProgramPage), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) throw std::runtime_error("no memory to share");
  auto& page = *static_cast<ProgramPage*>(memory);
  page.magic = programs::page_magic;
  page.version = programs::page_version;
  page.keeper_pid = getpid();
  page.longest_hold_ns = 1'000'000'000;
  setenv("GPUSHARE_PROGRAM", ("/proc/self/fd/" + std::to_string(file)).c_str(), 1);
  return page;
}

struct Drivers {
  ProgramPage& page = made_page();
  // By its soname it is the real driver for the library behind it.
  void* idle = opened(IDLE_DRIVER);
  void* intercept = opened(INTERCEPT_LIBRARY);
  LaunchKernel launch_idle = found<LaunchKernel>(idle, "cuLaunchKernel");
  LaunchKernel launch_intercepted = found<LaunchKernel>(intercept, "cuLaunchKernel");

  Drivers() { found<decltype(&cuInit)>(intercept, "cuInit")(0); }
};

Drivers& drivers() {
  static Drivers both;
  return both;
}

void launch(benchmark::State& state, LaunchKernel launch_kernel, Lease lease) {
  drivers().page.lease = lease.word();
  const auto kernels = static_cast<unsigned>(state.range(0));
  auto* stream = reinterpret_cast<CUstream>(std::uintptr_t{4096});
  unsigned kernel = 0;
  for ([[maybe_unused]] auto _ : state) {
    kernel = kernel + 1 < kernels ? kernel + 1 : 0;
    auto* function = reinterpret_cast<CUfunction>(std::uintptr_t{65536} + 256 * kernel);
    benchmark::DoNotOptimize(launch_kernel(function, 1 + kernel, 1, 1, 128, 1, 1, 0, stream, nullptr, nullptr));
  }
}

void launch_without(benchmark::State& state) { launch(state, drivers().launch_idle, {}); }
void launch_free(benchmark::State& state) { launch(state, drivers().launch_intercepted, {}); }
void launch_limited(benchmark::State& state) {
  launch(state, drivers().launch_intercepted, {LeaseState::Limited, 400});
}

/// As a program launches whose own work between two launches leaves nothing of the library's in the nearer caches.
void launch_behind_work(benchmark::State& state, LaunchKernel launch_kernel) {
  constexpr unsigned kernels = 300;
  constexpr std::size_t work_bytes = 3 << 20;
  constexpr std::size_t line_bytes = 64;
  drivers().page.lease = Lease{}.word();
  *found<int*>(drivers().idle, "idle_driver_launch_ns") = 2000;
  auto* stream = reinterpret_cast<CUstream>(std::uintptr_t{4096});
  std::vector<char> work(work_bytes);
  std::vector<double> found_ns;
  unsigned kernel = 0;
  for ([[maybe_unused]] auto _ : state) {
    for (std::size_t at = 0; at < work.size(); at += line_bytes) ++work[at];
    kernel = kernel + 1 < kernels ? kernel + 1 : 0;
    auto* function = reinterpret_cast<CUfunction>(std::uintptr_t{65536} + 256 * kernel);
    const auto began = std::chrono::steady_clock::now();
    launch_kernel(function, 1 + kernel, 1, 1, 128, 1, 1, 0, stream, nullptr, nullptr);
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - began;
    found_ns.push_back(took.count());
  }
  *found<int*>(drivers().idle, "idle_driver_launch_ns") = 0;
  std::ranges::sort(found_ns);
  state.counters["median_ns"] = found_ns[found_ns.size() / 2];
}

/// Most of them behind those that are timed, which cost more.
constexpr int launches_behind_work = 10'000;

void launch_without_behind_work(benchmark::State& state) { launch_behind_work(state, drivers().launch_idle); }
void launch_free_behind_work(benchmark::State& state) { launch_behind_work(state, drivers().launch_intercepted); }

BENCHMARK(launch_without)->ArgName("kernels")->Arg(1)->Arg(300);
BENCHMARK(launch_free)->ArgName("kernels")->Arg(1)->Arg(300);
BENCHMARK(launch_limited)->ArgName("kernels")->Arg(1)->Arg(300);
BENCHMARK(launch_without_behind_work)->Iterations(launches_behind_work);
BENCHMARK(launch_free_behind_work)->Iterations(launches_behind_work);

}  // namespace
}  // namespace gpushare
