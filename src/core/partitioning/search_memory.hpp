// SPDX-License-Identifier: Apache-2.0
// Remembers what CD-search has learnt, because the same applications run the same kernels again in loops of launches:
// searches by group, and classes by application and kernel. What concerns an application is forgotten when it has
// ended.
#pragma once

#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/model/lru_cache.hpp"
#include "core/partitioning/cd_search_options.hpp"
#include "core/partitioning/co_run_group.hpp"

namespace gpushare {

class SearchMemory {
 public:
  explicit SearchMemory(const CdSearchOptions& options) : options_(options) {}

  /// The application never comes back.
  void ended(ApplicationId application) { ended_.insert(application); }

  /// The search of this group as it was left, or a new one. Valid until the next call.
  PartitionSearch& search_of(std::span<const Member> group, const State& state);

  /// Remembers what a search has found out about the members.
  void learn(std::span<const Member> group, const PartitionSearch& search);

 private:
  using KernelOfApplication = std::pair<ApplicationId, std::string>;

  void forget_ended(std::span<const Member> group);
  std::optional<BoundBy> intensity(const Member& member, const State& state);

  CdSearchOptions options_;
  LruCache<std::vector<KernelOfApplication>, PartitionSearch> searches_{1024};
  LruCache<KernelOfApplication, std::optional<BoundBy>> learnt_{4096};
  std::set<ApplicationId> ended_;  // and not forgotten yet
};

}  // namespace gpushare
