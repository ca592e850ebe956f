// SPDX-License-Identifier: Apache-2.0
// Admitted launches: they start ahead of all others, without a quota, on SMs that the policy has reserved. So many run
// at a time (admitted_at_once, plan.hpp); the others wait here, where they cost the scheduler nothing, however many
// they are. In a stream behind another one a launch could not be withdrawn, and one that does not end would block all
// behind it.
#pragma once

#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "core/runtime/launch/gpu_launch.hpp"

namespace gpushare {

class BypassQueue {
 public:
  using Launches = std::vector<std::unique_ptr<GpuLaunch>>;

  explicit BypassQueue(const RuntimeTuning& tuning = {}) : longest_passing_(tuning.longest_passing) {}

  /// Admits a launch. `on_reserved_sms`: it runs in its original form on the SMs that are reserved for it; else it has
  /// begun already, and continues.
  void admit(OperationId launch, bool on_reserved_sms, Time now);
  /// It waits for a place.
  void wait(std::unique_ptr<GpuLaunch> launch) { waiting_.push_back(std::move(launch)); }
  bool any_waits() const { return !waiting_.empty(); }

  /// Moves launches that wait to `launches`, as long as there are places.
  void fill_places(Launches& launches, Time now);
  /// This one is needed for more than to begin in order: moves it there where it waits.
  void take_out(OperationId launch, Launches& launches);
  void take_out_all(Launches& launches);

  bool has_admitted(OperationId launch) const { return admitted_.contains(launch); }
  bool is_on_reserved_sms(OperationId launch) const;
  /// Was it admitted so recently that it may end before the places of its blocks would matter?
  bool is_passing(const GpuLaunch& launch, Time now) const;
  /// A plan has a share for it, or it has ended: it is a launch like the others. True if it was on reserved SMs.
  bool forget(OperationId launch);

 private:
  struct Admitted {
    bool is_on_reserved_sms = false;
    Time since{};
  };

  Duration longest_passing_;
  std::unordered_map<OperationId, Admitted> admitted_;
  std::deque<std::unique_ptr<GpuLaunch>> waiting_;
};

}  // namespace gpushare
