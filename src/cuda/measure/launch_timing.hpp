// SPDX-License-Identifier: Apache-2.0
// One launch with the GPU to itself, timed by the GPU: for profiles. Nothing is scheduled here.
#pragma once

#include <mutex>

#include "cuda/code/program.hpp"
#include "cuda/launch/gpu_resources.hpp"

namespace gpushare::cuda {

/// The limit for a profiled launch: a longer one is assumed not to end at all.
constexpr Duration launch_patience{60'000'000'000};

/// How often a wait asks whether a kernel has faulted.
constexpr Duration trial_health_check_interval{10'000'000};

/// Blocks runs and sessions on the GPU. Throws InvalidInput where one is on it.
std::unique_lock<std::mutex> hold_for_timing(GpuResources& resources);

/// Waits until everything in the stream has ended. Throws CudaError where a kernel faults, or does not end in time;
/// then the context is abandoned.
void wait_for(GpuResources& resources, CUstream stream, Duration patience = launch_patience);

/// The time from the start of the original kernel to its end, by events in its stream.
Duration time_of_original(GpuResources& resources, const DeviceLaunch& launch);

/// Events with timestamps.
Event make_timing_event(const SharedContext& context);
Duration time_between(const Event& start, const Event& end);

}  // namespace gpushare::cuda
