// SPDX-License-Identifier: Apache-2.0
// The launches that may have blocks on the simulated GPU, in the order of their ranks: by the plan in force, by
// admission, and as successors of launches that have ended.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/engine/plan.hpp"
#include "core/simulation/launches/active_launch.hpp"
#include "core/simulation/launches/queued_successors.hpp"

namespace gpushare {

class RankedLaunches {
 public:
  struct Ranked {
    ActiveLaunch* launch;
    Quota quota;
    bool leaves_rest = false;
  };

  explicit RankedLaunches(int sms) : sms_(sms) {}

  const std::vector<Ranked>& all() const { return ranks_; }
  /// nullptr: it has no rank.
  const Ranked* find(const ActiveLaunch& launch) const;

  /// A plan takes effect for the first `known` launches, which were submitted before it was sent. `find` returns
  /// nullptr for a launch that was never submitted. Returns the launches that come back after an eviction.
  std::vector<ActiveLaunch*> apply(const Plan& plan, std::uint64_t known,
                                   const std::function<ActiveLaunch*(OperationId)>& find);
  /// Ahead of all that were not admitted, with all that it can have; also where it has succeeded another launch, of
  /// which it may have less.
  void admit(ActiveLaunch& launch);
  /// The launch takes over what the one before it in its application had.
  void succeed(ActiveLaunch& launch, const QueuedSuccessors::Vacancy& vacancy);
  void remove(const ActiveLaunch& launch);

  /// Has every launch a share that the plan in force could have given one?
  bool all_have_a_share(std::span<ActiveLaunch* const> launches) const;

 private:
  void keep_successors(const std::vector<Ranked>& before);

  int sms_;
  std::vector<Ranked> ranks_;
  std::uint64_t known_ = 0;  // launches, to the plan in force
};

}  // namespace gpushare
