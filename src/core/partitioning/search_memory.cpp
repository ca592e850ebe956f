// SPDX-License-Identifier: Apache-2.0
#include "core/partitioning/search_memory.hpp"

#include <algorithm>
#include <utility>

namespace gpushare {

PartitionSearch& SearchMemory::search_of(std::span<const Member> group, const State& state) {
  forget_ended(group);
  std::vector<KernelOfApplication> mix;
  std::vector<std::optional<BoundBy>> intensities;
  for (const Member& member : group) {
    mix.emplace_back(member.application, member.kernel);
    intensities.push_back(intensity(member, state));
  }
  const SearchOptions options = options_.search_on(state.sms());
  return searches_.find_or(mix, [&] { return PartitionSearch(std::move(intensities), state.sms(), options); });
}

/// An application that has just ended may still belong to the group for a moment.
void SearchMemory::forget_ended(std::span<const Member> group) {
  std::set<ApplicationId> gone = std::exchange(ended_, {});
  for (const Member& member : group) {
    if (gone.erase(member.application) > 0) ended_.insert(member.application);
  }
  if (gone.empty()) return;
  const auto has_gone = [&](const KernelOfApplication& one) { return gone.contains(one.first); };
  searches_.forget_if([&](const auto& group) { return std::ranges::any_of(group, has_gone); });
  learnt_.forget_if(has_gone);
}

void SearchMemory::learn(std::span<const Member> group, const PartitionSearch& search) {
  for (std::size_t i = 0; i < group.size(); ++i) {
    learnt_[{group[i].application, group[i].kernel}] = search.intensities()[i];
  }
}

std::optional<BoundBy> SearchMemory::intensity(const Member& member, const State& state) {
  auto& learnt = learnt_[{member.application, member.kernel}];
  if (!learnt && options_.classes != ClassBy::StallTest) {
    learnt = profiled_intensity(state, member.application, options_.classes);
  }
  return learnt;
}

}  // namespace gpushare
