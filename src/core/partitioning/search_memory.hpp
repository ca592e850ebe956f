// SPDX-License-Identifier: Apache-2.0
// What CD-search has learnt, for when the same applications run the same kernels again, as they do in loops of
// launches: searches by company, and classes by application and kernel. Of applications that have ended it forgets
// them.
#pragma once

#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/model/lru_cache.hpp"
#include "core/partitioning/cd_search_options.hpp"
#include "core/partitioning/company.hpp"

namespace gpushare {

class SearchMemory {
 public:
  explicit SearchMemory(const CdSearchOptions& options) : options_(options) {}

  /// The application never comes back.
  void ended(ApplicationId application) { ended_.insert(application); }

  /// The search of this company, where it stood, or a new one. Valid until the next call.
  PartitionSearch& search_of(std::span<const Member> company, const State& state);

  /// Remembers what a search has found out about the members.
  void learn(std::span<const Member> company, const PartitionSearch& search);

 private:
  using KernelOfApplication = std::pair<ApplicationId, std::string>;

  void forget_ended(std::span<const Member> company);
  std::optional<BoundBy> intensity(const Member& member, const State& state);

  CdSearchOptions options_;
  LruCache<std::vector<KernelOfApplication>, PartitionSearch> searches_{1024};
  LruCache<KernelOfApplication, std::optional<BoundBy>> learnt_{4096};
  std::set<ApplicationId> ended_;  // and not forgotten yet
};

}  // namespace gpushare
