// SPDX-License-Identifier: Apache-2.0
#include "core/partitioning/search_memory.hpp"

#include <algorithm>
#include <utility>

namespace gpushare {

PartitionSearch& SearchMemory::search_of(std::span<const Member> company, const State& state) {
  forget_ended(company);
  std::vector<KernelOfApplication> mix;
  std::vector<std::optional<BoundBy>> intensities;
  for (const Member& member : company) {
    mix.emplace_back(member.application, member.kernel);
    intensities.push_back(intensity(member, state));
  }
  const SearchOptions options = options_.search_on(state.sms());
  return searches_.find_or(mix, [&] { return PartitionSearch(std::move(intensities), state.sms(), options); });
}

/// Who has just ended may still count as present, for a moment.
void SearchMemory::forget_ended(std::span<const Member> company) {
  std::set<ApplicationId> gone = std::exchange(ended_, {});
  for (const Member& member : company) {
    if (gone.erase(member.application) > 0) ended_.insert(member.application);
  }
  if (gone.empty()) return;
  const auto has_gone = [&](const KernelOfApplication& one) { return gone.contains(one.first); };
  searches_.forget_if([&](const auto& company) { return std::ranges::any_of(company, has_gone); });
  learnt_.forget_if(has_gone);
}

void SearchMemory::learn(std::span<const Member> company, const PartitionSearch& search) {
  for (std::size_t i = 0; i < company.size(); ++i) {
    learnt_[{company[i].application, company[i].kernel}] = search.intensities()[i];
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
