// SPDX-License-Identifier: Apache-2.0
// One launch as workers with fixed quotas, alone on the GPU and without a scheduler, its counters read now and then.
// The speed of a kernel on some SMs, or with some blocks per SM, shows long before its grid has ended; so a trial has a
// limit, after which the workers leave at the next block boundary.
#pragma once

#include <optional>
#include <vector>

#include "cuda/code/program.hpp"
#include "cuda/launch/gpu_resources.hpp"

namespace gpushare::cuda {

struct TrialSetup {
  std::vector<std::uint16_t> quotas{};  ///< workers by SM
  std::uint16_t chunk = 1;              ///< most blocks per claim
  std::int64_t blocks = 0;              ///< the first so many of the grid; 0 for all
  Duration limit{};                     ///< from the launch on
  Duration interval{};                  ///< between two samples, at least
};

/// The counters as they were read.
struct TrialSample {
  Duration time{};            ///< when the host had them, from the launch on
  std::int64_t claimed = 0;   ///< blocks; never more than there are
  std::vector<WorkerSm> sms;  ///< quota, workers present, blocks done, chunks done, time spent
};

struct Trial {
  std::vector<TrialSample> samples;  ///< the last one after the end
  bool finished = false;             ///< have all blocks ended?
  std::optional<Duration> told{};  ///< when the order to leave began to be written; none if all had ended by the limit
  Duration end{};                  ///< when no worker was left, from the launch on
};

/// Throws InvalidInput where the kernel has no worker, the quotas hold no worker or another run is on the GPU.
Trial run_trial(GpuResources& resources, const DeviceLaunch& launch, const TrialSetup& setup);

}  // namespace gpushare::cuda
