// SPDX-License-Identifier: Apache-2.0
// Simple Slicing that does not ask twice: the mean block time of a kernel's last launch is taken for its next ones,
// from their arrival to their end. The paper's kernels are launched once.
//
// Suits: kernels that are launched again and again, on a GPU where a sample costs an eviction. Fails: where the time of
// a block changes from launch to launch.
#pragma once

#include <map>

#include "core/predictors/name_and_threads.hpp"
#include "core/predictors/simple_slicing.hpp"
#include "core/recent_map.hpp"

namespace gpushare {

class RememberingSlicing {
 public:
  /// As Simple Slicing is, unless it `remembers`.
  explicit RememberingSlicing(bool remembers) : remembers_(remembers) {}

  /// Feed every event, after the state includes it.
  void observe(const Event& event, const State& state);

  /// Did the event observed last change a prediction by more than the blocks that are done?
  bool changed() const { return changed_; }

  bool has_sample(const RunningLaunch& launch) const { return remembers(launch) || slicing_.has_sample(launch); }
  /// Eq. 2 without its first term, with the block time that is remembered or sampled. Requires has_sample().
  Duration remaining(const RunningLaunch& launch) const;

 private:
  struct Blocks {
    Duration time{};
    std::int64_t ended = 0;
  };

  static NameAndThreads key(const RunningLaunch& launch) { return name_and_threads(launch.launch->kernel); }
  bool remembers(const RunningLaunch& launch) const { return block_ns_.peek(key(launch)) != nullptr; }
  void add(const Event& ended, const RunningLaunch& launch);

  SimpleSlicing slicing_;
  bool remembers_;
  bool changed_ = false;
  int sms_ = 0;
  std::map<OperationId, Blocks> under_way_;
  RecentMap<NameAndThreads, double> block_ns_{4096};  // by kernel
};

}  // namespace gpushare
