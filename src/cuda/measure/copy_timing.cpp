// SPDX-License-Identifier: Apache-2.0
#include "cuda/measure/copy_timing.hpp"

#include <chrono>

#include "core/model/errors.hpp"
#include "cuda/driver/driver.hpp"
#include "cuda/measure/launch_timing.hpp"

namespace gpushare::cuda {

CopyTimer::CopyTimer(GpuResources& resources, std::size_t most_bytes)
    : resources_(resources),
      most_bytes_(most_bytes),
      device_(make_device_memory(resources.context, most_bytes)),
      pinned_(make_pinned_memory(resources.context, most_bytes)),
      pageable_(most_bytes),
      stream_(make_stream(resources.context)),
      start_(make_timing_event(resources.context)),
      end_(make_timing_event(resources.context)) {}

std::vector<CopyTime> CopyTimer::measure(Copy::Direction direction, HostMemory memory, std::size_t bytes, int repeats) {
  require(bytes > 0 && bytes <= most_bytes_,
          "a copy of " + std::to_string(bytes) + " bytes: there is memory for 1.." + std::to_string(most_bytes_));
  const auto in_use = hold_for_timing(resources_);
  const CurrentContext current(*resources_.context);
  void* host = memory == HostMemory::Pinned ? pinned_.get() : pageable_.data();
  static_cast<void>(once(direction, host, bytes));
  std::vector<CopyTime> times;
  for (int repeat = 0; repeat < repeats; ++repeat) times.push_back(once(direction, host, bytes));
  return times;
}

CopyTime CopyTimer::once(Copy::Direction direction, void* host, std::size_t bytes) {
  using Clock = std::chrono::steady_clock;
  const auto called = Clock::now();
  GPUSHARE_CU(cuEventRecord(start_.get(), stream_.get()));
  if (direction == Copy::Direction::ToDevice) {
    GPUSHARE_CU(cuMemcpyHtoDAsync(device_.get(), host, bytes, stream_.get()));
  } else {
    GPUSHARE_CU(cuMemcpyDtoHAsync(host, device_.get(), bytes, stream_.get()));
  }
  GPUSHARE_CU(cuEventRecord(end_.get(), stream_.get()));
  wait_for(resources_, stream_.get());
  const auto seen = Clock::now();
  return {.host = std::chrono::duration_cast<Duration>(seen - called), .device = time_between(start_, end_)};
}

}  // namespace gpushare::cuda
