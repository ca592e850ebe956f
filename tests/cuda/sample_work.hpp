// SPDX-License-Identifier: Apache-2.0
// Applications whose results are known beforehand, for runs on the stand-in.
#pragma once

#include "core/engine/engine.hpp"
#include "cuda/code/program.hpp"
#include "on_stand_in.hpp"

namespace gpushare::cuda::test {

/// A workload with the program that it is on a GPU.
struct Work {
  Workload workload{.name = "sample"};
  Program program{};

  void add_launch(const std::shared_ptr<KernelCode>& kernel, unsigned blocks, unsigned threads,
                  std::vector<std::vector<std::byte>> with) {
    const Launch launch{.kernel = {.name = kernel->symbol(),
                                   .needs = kernel->needs({threads, 1, 1}, 0),
                                   .cost = {.latency = Duration(1)}},  // not known
                        .blocks = blocks,
                        .alone = Duration(1'000'000)};
    workload.applications.back().operations.push_back(launch);
    program.push_back(
        DeviceLaunch{.kernel = kernel, .grid = {blocks, 1, 1}, .block = {threads, 1, 1}, .arguments = std::move(with)});
  }
  void add_copy(const DeviceCopy& copy) {
    workload.applications.back().operations.push_back(
        Copy{.direction = copy.direction, .size = Bytes{static_cast<std::int64_t>(copy.bytes)}});
    program.push_back(copy);
  }
  void add_application(std::string name, std::int64_t arrival_ns = 0) {
    workload.applications.push_back({.name = std::move(name), .arrival = Duration(arrival_ns)});
  }
};

/// Counts itself, and spins until *gate is set, or for `patience` nanoseconds.
inline const std::string wait_at_gate = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry wait_at_gate(.param .u64 gate, .param .u64 arrived, .param .u64 patience)
{
  .reg .pred %p;
  .reg .b32 %r<3>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [gate];
  ld.param.u64 %rd2, [arrived];
  ld.param.u64 %rd3, [patience];
  atom.global.add.u32 %r2, [%rd2], 1;
  mov.u64 %rd4, %globaltimer;
  add.u64 %rd3, %rd3, %rd4;
again:
  ld.volatile.global.u32 %r1, [%rd1];
  setp.ne.u32 %p, %r1, 0;
  @%p ret;
  mov.u64 %rd4, %globaltimer;
  setp.lt.u64 %p, %rd4, %rd3;
  @%p bra again;
  ret;
}
)";

inline constexpr std::uint64_t for_ever = std::uint64_t{1} << 62;
inline constexpr std::uint64_t some_ms = 5'000'000;

/// Some launches of saxpy, y = a x + y, one after the other on the same arrays.
class Saxpys {
 public:
  static constexpr int count = 1000;
  static constexpr unsigned threads = 64;
  static constexpr unsigned blocks = (count + threads - 1) / threads;

  Saxpys(DeviceMemory x, DeviceMemory y) : x_(std::move(x)), y_(std::move(y)) {}

  void add_to(Work& work, const std::shared_ptr<KernelCode>& kernel, int launches) {
    launches_ += launches;
    for (int launch = 0; launch < launches; ++launch) {
      work.add_launch(kernel, blocks, threads, arguments(2.0f, x_.get(), y_.get(), count));
    }
  }
  static std::vector<float> input() {
    std::vector<float> ramp;
    for (int index = 0; index < count; ++index) ramp.push_back(static_cast<float>(index));
    return ramp;
  }
  /// y began as x.
  std::vector<float> expected() const {
    std::vector<float> result = input();
    for (float& each : result) each *= static_cast<float>(1 + 2 * launches_);
    return result;
  }
  const DeviceMemory& result() const { return y_; }

 private:
  DeviceMemory x_, y_;
  int launches_ = 0;
};

}  // namespace gpushare::cuda::test
