// SPDX-License-Identifier: Apache-2.0
// Searches for the best allocation by the contention model. Three steps, each of which begins where the one before
// ended:
//
// 1. The best blocks per SM, the same on all SMs (a vector): for two kernels every vector on a grid, for more a climb
//    from several starts; from the best one, steps of one block.
// 2. The best numbers of SMs, where each SM belongs to one kernel or holds the vector of step 1: step sizes are halved.
// 3. Whatever is less simple than all SMs alike must promise 1 % more, because the model is not that exact.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "core/tuning/allocation/contention_model.hpp"
#include "core/tuning/tuning.hpp"

namespace gpushare {

struct AllocationChoice {
  SmAllocation allocation;  ///< empty: these contenders cannot run side by side
  SpeedEstimate estimate;
};

/// For the contenders of the model. Where minimum speeds cannot all be kept, the smallest ratio of a speed to its
/// minimum is as large as can be; where the other bounds cannot, the mean slowdown is as small.
AllocationChoice best_allocation(const ContentionModel& model, const Bounds& bounds);

/// The same where predictions are doubtful: an equal partition, unless other numbers of SMs, or shared SMs, promise
/// clearly more (CoRunTuning). On an H100 the best of five splits is 0.9 % better than an equal partition in the
/// geomean of 190 pairs, and to follow the model whenever it promises 5 % more is 0.5 % worse
/// (docs/internals/tuner.md): it does not know what kernels that wait for memory lose beside others that fill it, and
/// which launch an SM serves first, where several share it, changes with every launch. Shared SMs are searched only
/// with all SMs alike.
AllocationChoice conservative_allocation(const ContentionModel& model, const Bounds& bounds);

/// The best allocation with all SMs alike.
AllocationChoice best_vector(const ContentionModel& model, const Bounds& bounds);

/// conservative_allocation() in small steps. A whole search takes 0.6 ms in the mean and up to 11, and no launch starts
/// while a policy decides; so it goes on in between, a few evaluations at a time. Every step repeats the search from
/// its beginning and gets further, because evaluations are remembered.
class IncrementalSearch {
 public:
  IncrementalSearch(const Device& device, std::vector<Contender> contenders, const Bounds& bounds)
      : contenders_(std::move(contenders)), model_(device, contenders_), bounds_(bounds) {}
  IncrementalSearch(const IncrementalSearch&) = delete;  // the model refers to the contenders
  IncrementalSearch& operator=(const IncrementalSearch&) = delete;

  AllocationChoice equal() const {
    const SmAllocation allocation = equal_partition(model_.device(), contenders_);
    return {.allocation = allocation, .estimate = model_.estimate(allocation)};
  }

  /// The choice, once the search has come to its end.
  std::optional<AllocationChoice> step() {
    model_.limit_evaluations(Tuning::evaluations_per_step);
    AllocationChoice choice = conservative_allocation(model_, bounds_);
    if (model_.has_hit_limit()) return std::nullopt;
    return choice;
  }

 private:
  std::vector<Contender> contenders_;
  ContentionModel model_;
  Bounds bounds_;
};

}  // namespace gpushare
