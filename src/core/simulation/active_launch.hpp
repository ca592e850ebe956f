// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/gpu.hpp"
#include "core/residency.hpp"
#include "core/simulation/variability.hpp"

namespace gpushare {

/// A launch on the simulated GPU: its grid, and how far the dispatcher has come in it.
struct ActiveLaunch {
  ActiveLaunch(const Submission& submission, const Device& device, std::uint64_t seed, double ready_at)
      : id(submission.id),
        application(submission.application),
        launch(std::get<Launch>(*submission.operation)),
        block(footprint(device, launch.kernel.needs)),
        max_residency(gpushare::max_residency(device, launch.kernel.needs)),
        first_wave(static_cast<std::int64_t>(max_residency) * device.sms),
        work(seed, submission.identity, launch.kernel.cost.variation_ratio),
        ready_at(ready_at) {}

  std::int64_t unstarted() const { return launch.blocks - started; }
  bool evicted() const { return started > 0 && started == ended && !has_quota; }

  double work_of(std::int64_t block_index) const {
    const double startup = block_index < first_wave ? 1 + launch.kernel.cost.startup_ratio : 1.0;
    return work(block_index) * startup;
  }

  OperationId id;
  ApplicationId application;
  const Launch& launch;
  BlockFootprint block;
  int max_residency;
  std::int64_t first_wave;
  BlockWork work;
  double ready_at;  ///< no block starts before this time
  std::int64_t started = 0;
  std::int64_t ended = 0;
  bool has_quota = false;
};

}  // namespace gpushare
