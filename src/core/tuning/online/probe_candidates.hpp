// SPDX-License-Identifier: Apache-2.0
// The allocations that are to be probed: suggestions, and the neighbours of an allocation that has been measured. The
// step to a neighbour is large at first, and halves when all neighbours at that distance are known.
#pragma once

#include <span>
#include <vector>

#include "core/tuning/allocation/neighbours.hpp"
#include "core/tuning/online/sample_history.hpp"
#include "core/tuning/tuning.hpp"

namespace gpushare {

class ProbeCandidates {
 public:
  /// Suggestions go before neighbours, in order.
  void suggest(SmAllocation allocation) { suggested_.push_back(std::move(allocation)); }
  void suggest_next(const SmAllocation& allocation) { suggested_.insert(suggested_.begin(), allocation); }
  void drop_known_suggestions(const SampleHistory& history);
  /// nullptr where there is none.
  const SmAllocation* next_suggestion() const { return suggested_.empty() ? nullptr : &suggested_.front(); }

  void set_step_size(double step_size) { step_size_ = step_size; }
  /// Those of this allocation that the history does not know, at the present step size, or at the largest smaller one
  /// that has any, which is the step size then.
  void find_neighbours(const Device& device, std::span<const Contender> contenders, const SmAllocation& allocation,
                       const SampleHistory& history);
  bool has_neighbours() const { return !neighbours_.empty(); }
  void drop_neighbours() { neighbours_.clear(); }
  /// Neighbours in which this kernel has most blocks come first.
  void prefer(std::size_t kernel);

  bool empty() const { return suggested_.empty() && neighbours_.empty(); }
  /// The next suggestion; without one, or where it may wait and there is a neighbour, that.
  SmAllocation take_next(bool may_suggestion_wait);

 private:
  std::vector<SmAllocation> suggested_;   // the next one first
  std::vector<SmAllocation> neighbours_;  // the next one last
  double step_size_ = Tuning::largest_step;
};

}  // namespace gpushare
