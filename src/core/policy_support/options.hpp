// SPDX-License-Identifier: Apache-2.0
// The options behind a policy's name: "cd-search:mode=power:step=4" has the options mode and step. A policy asks for
// each by name, with the values that it accepts; an option that is not asked for is an error.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace gpushare {

class PolicyOptions {
 public:
  /// The options of a policy that is given without any.
  PolicyOptions() = default;
  /// Throws InvalidInput unless `text` is NAME or NAME:KEY=VALUE:KEY=VALUE, each key once.
  explicit PolicyOptions(std::string_view text);

  const std::string& policy() const { return policy_; }

  /// The option's word, one of these; the first where it is left out. Throws InvalidInput for any other.
  std::string word(const std::string& key, std::initializer_list<std::string_view> words) const;
  /// A number in least..most, or `otherwise` where the option is left out. Throws InvalidInput for any other.
  double number(const std::string& key, double otherwise, double least, double most) const;
  /// The same without a fraction; 1e6 is one.
  std::int64_t whole(const std::string& key, std::int64_t otherwise, std::int64_t least, std::int64_t most) const;

  /// Throws InvalidInput where both options are given: one follows from the other.
  void require_not_both(const std::string& key, const std::string& other) const;

  /// Throws InvalidInput naming an option that the policy did not ask for, and those that it did.
  void require_all_known() const;

 private:
  const std::string* find(const std::string& key) const;

  std::string policy_;
  std::map<std::string, std::string> values_;
  mutable std::set<std::string> asked_;
};

}  // namespace gpushare
