// SPDX-License-Identifier: Apache-2.0
#include "core/partitioning/search_memory.hpp"

namespace gpushare {

PartitionSearch& SearchMemory::search_of(std::span<const Member> company, const State& state) {
  std::vector<KernelOfApplication> mix;
  std::vector<std::optional<BoundBy>> intensities;
  for (const Member& member : company) {
    mix.emplace_back(member.application, member.kernel);
    intensities.push_back(intensity(member, state));
  }
  const SearchOptions options = options_.search_on(state.sms());
  return searches_.try_emplace(mix, std::move(intensities), state.sms(), options).first->second;
}

void SearchMemory::learn(std::span<const Member> company, const PartitionSearch& search) {
  for (std::size_t i = 0; i < company.size(); ++i) {
    learnt_[{company[i].application, company[i].kernel}] = search.intensities()[i];
  }
}

std::optional<BoundBy> SearchMemory::intensity(const Member& member, const State& state) {
  auto& learnt = learnt_[{member.application, member.kernel}];
  if (!learnt && options_.reads_profiles) learnt = profiled_intensity(state, member.application);
  return learnt;
}

}  // namespace gpushare
