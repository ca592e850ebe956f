// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/online/probe_candidates.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace gpushare {

void ProbeCandidates::drop_known_suggestions(const SampleHistory& history) {
  std::erase_if(suggested_, [&history](const SmAllocation& each) { return history.knows(each); });
}

void ProbeCandidates::find_neighbours(const Device& device, std::span<const Contender> contenders,
                                      const SmAllocation& allocation, const SampleHistory& history) {
  for (;; step_size_ /= 2) {
    neighbours_ = neighbours_of(device, contenders, allocation, step_size_);
    std::erase_if(neighbours_, [&history](const SmAllocation& each) { return history.knows(each); });
    if (has_neighbours() || step_size_ <= Tuning::smallest_step) break;
  }
  std::ranges::reverse(neighbours_);
}

void ProbeCandidates::prefer(std::size_t kernel) {
  std::ranges::stable_sort(neighbours_, {}, [kernel](const SmAllocation& each) { return blocks_in(each, kernel); });
}

SmAllocation ProbeCandidates::take_next(bool may_suggestion_wait) {
  const bool is_neighbour = suggested_.empty() || (may_suggestion_wait && has_neighbours());
  std::vector<SmAllocation>& from = is_neighbour ? neighbours_ : suggested_;
  const auto place = is_neighbour ? std::prev(from.end()) : from.begin();
  SmAllocation next = std::move(*place);
  from.erase(place);
  return next;
}

}  // namespace gpushare
