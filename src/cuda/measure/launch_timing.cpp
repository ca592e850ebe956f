// SPDX-License-Identifier: Apache-2.0
#include "cuda/measure/launch_timing.hpp"

#include <chrono>
#include <cmath>

#include "core/model/errors.hpp"
#include "cuda/driver/driver.hpp"
#include "cuda/launch/grids.hpp"

namespace gpushare::cuda {

std::unique_lock<std::mutex> hold_for_timing(GpuResources& resources) {
  std::unique_lock in_use(resources.in_use, std::try_to_lock);
  require(in_use.owns_lock(), "another run or session of this process is on this GPU: finish it first");
  return in_use;
}

void wait_for(GpuResources& resources, CUstream stream, Duration patience) {
  using Clock = std::chrono::steady_clock;
  const Completion end = resources.completions.mark(stream);
  const auto start = Clock::now();
  auto checked = start;
  while (!end.reached()) {
    const auto now = Clock::now();
    if (now - checked < trial_health_check_interval) continue;
    checked = now;
    resources.completions.require_healthy();
    if (now - start < patience) continue;
    resources.context->abandon();
    throw CudaError("a kernel does not end: this process cannot use the GPU any more");
  }
  resources.completions.give_back(end);
}

Event make_timing_event(const SharedContext& context) {
  const CurrentContext current(*context);
  CUevent event = nullptr;
  GPUSHARE_CU(cuEventCreate(&event, CU_EVENT_DEFAULT));
  return {context, event};
}

Duration time_between(const Event& start, const Event& end) {
  float milliseconds = 0;
  GPUSHARE_CU(cuEventElapsedTime(&milliseconds, start.get(), end.get()));
  return Duration(std::llround(double{milliseconds} * 1e6));
}

Duration time_of_original(GpuResources& resources, const DeviceLaunch& launch) {
  const auto in_use = hold_for_timing(resources);
  const CurrentContext current(*resources.context);
  const Stream stream = make_stream(resources.context);
  const Event start = make_timing_event(resources.context);
  const Event end = make_timing_event(resources.context);
  GPUSHARE_CU(cuEventRecord(start.get(), stream.get()));
  launch_grid(launch.kernel->original(), launch.grid, launch, {}, stream.get());
  GPUSHARE_CU(cuEventRecord(end.get(), stream.get()));
  wait_for(resources, stream.get());
  return time_between(start, end);
}

}  // namespace gpushare::cuda
