// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/engine/policy.hpp"
#include "core/policy_support/options.hpp"

namespace gpushare {

/// A policy as users see it: `gpushare policies` prints this table.
struct PolicyEntry {
  std::string_view name;
  std::string_view summary;
  std::string_view source;  ///< paper and section
  bool is_oracle;           ///< uses knowledge that no scheduler can have
  std::unique_ptr<Policy> (*make)(const PolicyOptions&);
};

std::span<const PolicyEntry> policies();

/// The policy of this name, with options behind it if it has any ("cd-search:mode=power"). Throws InvalidInput for an
/// unknown name, listing the known ones, and for an option that the policy does not have.
std::unique_ptr<Policy> make_policy(std::string_view text);

/// The options of this policy, with `whole_up_to_ns`, which all of them have.
std::vector<OptionEntry> policy_options(std::string_view name);

/// Throws InvalidInput for a policy that has to be told what an open run cannot know.
void require_open_policy(std::string_view text);

}  // namespace gpushare
