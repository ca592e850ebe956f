// SPDX-License-Identifier: Apache-2.0
// What each application of an open run has had so far, beyond what the state knows of its present launch. Costs nothing
// per block: launches are added up when they end.
#pragma once

#include <algorithm>
#include <map>
#include <vector>

#include "core/engine/engine.hpp"

namespace gpushare {

struct Tally {
  Duration sm_time{};            ///< time on each SM with at least one block, summed over SMs and ended launches
  std::int64_t blocks = 0;       ///< of ended launches
  std::int64_t operations = 0;   ///< that have ended
  std::int64_t launches = 0;     ///< of them
  Time last_end{};               ///< of an operation
  std::int64_t preemptions = 0;  ///< how often a plan took a launch off the GPU that had begun and was not through
  bool operator==(const Tally&) const = default;
};

/// Time with at least one block, summed over the SMs.
inline Duration sm_time(const RunningLaunch& launch, Time now) {
  Duration sum{};
  for (const SmProgress& sm : launch.per_sm) sum += sm.active(now);
  return sum;
}

class ApplicationTallies : public RunObserver {
 public:
  explicit ApplicationTallies(const State& state) : state_(state) {}

  const Tally& of(ApplicationId application) const {
    static constexpr Tally none;
    const auto found = tallies_.find(application);
    return found != tallies_.end() ? found->second : none;
  }
  void forget(ApplicationId application) { tallies_.erase(application); }

  /// The launch is about to end: call it while the state still has it.
  void ending(const RunningLaunch& launch, Time now) {
    Tally& tally = tallies_[launch.application];
    tally.sm_time += sm_time(launch, now);
    tally.blocks += launch.done;
    ++tally.launches;
  }

  void saw(const Event& event) override {
    if (event.kind == EventKind::LaunchEnded || event.kind == EventKind::CopyEnded) {
      Tally& tally = tallies_[event.application];
      ++tally.operations;
      tally.last_end = event.time;
    }
  }

  void decided(const Plan& plan) override {
    std::swap(before_, holders_);
    holders_.clear();
    for (const Share& share : plan.shares) {
      if (share.quota.largest() > 0) holders_.push_back(share.launch);
    }
    for (const OperationId before : before_) {
      if (std::ranges::find(holders_, before) != holders_.end()) continue;
      const RunningLaunch* launch = state_.find(before);
      if (launch == nullptr || launch->started == launch->done || launch->unstarted() == 0) continue;
      ++tallies_[launch->application].preemptions;
    }
  }

 private:
  const State& state_;
  std::map<ApplicationId, Tally> tallies_;
  std::vector<OperationId> holders_;  // of a quota, by the plan in force
  std::vector<OperationId> before_;   // by the one before it
};

}  // namespace gpushare
