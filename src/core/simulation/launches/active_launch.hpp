// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "core/engine/gpu.hpp"
#include "core/model/residency.hpp"
#include "core/simulation/launches/launch_workers.hpp"
#include "core/simulation/launches/variability.hpp"

namespace gpushare {

/// A launch on the simulated GPU: its grid, and how far the dispatcher has come in it.
struct ActiveLaunch {
  ActiveLaunch(const Submission& submission, std::uint64_t number, const Device& device, std::uint64_t seed,
               double ready_at)
      : id(submission.id),
        number(number),
        application(submission.application),
        launch(std::get<Launch>(*submission.operation)),
        blocks(launch.blocks),
        block(footprint(device, launch.kernel.needs)),
        max_residency(gpushare::max_residency(device, launch.kernel.needs)),
        first_wave(static_cast<std::int64_t>(max_residency) * device.sms),
        work(seed, submission.identity, launch.kernel.cost.variation_ratio),
        workers(device.sms, device.delays.top_up),
        ready_at(ready_at) {}

  std::int64_t unstarted() const { return blocks - started; }
  bool has_ended() const { return ended == blocks; }
  /// No more blocks than have started.
  void cut_short() { blocks = started; }
  /// Has the host seen that its workers stay until its end, and had time to put another launch behind it?
  bool may_be_followed(double now, double signal) const {
    return !was_moved && first_end >= 0 && now - first_end >= signal;
  }
  bool evicted() const { return started > 0 && started == ended && !has_quota; }

  double work_of(std::int64_t block_index) const {
    const double startup = block_index < first_wave ? 1 + launch.kernel.cost.startup_ratio : 1.0;
    return work(block_index) * startup * trend(block_index);
  }

  /// Event times are whole nanoseconds, and no block takes none.
  double least_work() const { return 1 / nanoseconds(launch.kernel.cost.latency); }

  double trend(std::int64_t block_index) const {
    const double ratio = launch.kernel.cost.trend_ratio;
    const auto grid = static_cast<double>(launch.blocks);
    return ratio == 0 ? 1.0 : std::max(1 + ratio * (1 - (2.0 * static_cast<double>(block_index) + 1) / grid), 1e-3);
  }

  /// An SM that serves some of its blocks first ends them one after the other, where equal shares would end a whole
  /// wave at once. Once they are apart they stay so: the first wave's work is spread, its mean being kept.
  double stagger(int place, int wave) const {
    const double ratio = launch.kernel.cost.stagger_ratio;
    return place < wave ? 1 + ratio * (2.0 * (place + 1) / (wave + 1) - 1) : 1.0;
  }

  OperationId id;
  std::uint64_t number;  ///< counts all that were ever submitted: ids are used again
  ApplicationId application;
  const Launch& launch;
  std::int64_t blocks;  ///< that are to run
  BlockFootprint block;
  int max_residency;
  std::int64_t first_wave;
  BlockWork work;
  LaunchWorkers workers;
  double ready_at;  ///< no block starts before this time
  std::int64_t started = 0;
  std::int64_t ended = 0;
  bool has_quota = false;
  bool is_admitted = false;
  double first_end = -1;   ///< of a block; -1: none has ended
  bool was_moved = false;  ///< its quotas have changed since it began
};

}  // namespace gpushare
