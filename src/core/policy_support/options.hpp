// SPDX-License-Identifier: Apache-2.0
// What stands behind a policy's name: "cd-search:mode=power:step=4" has the options mode and step. A policy asks for
// each by name and says what it means and may be; the documentation reads the same words. An option that the policy
// does not ask for is an error.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/units.hpp"

namespace gpushare {

/// An option as its policy describes it.
struct OptionEntry {
  std::string name;
  std::string meaning;
  std::string otherwise;  ///< its value where it is left out; empty where the meaning says what holds then
  std::string values;     ///< what it may be
};

class PolicyOptions {
 public:
  /// The options of a policy that is given without any.
  PolicyOptions() = default;
  /// Throws InvalidInput unless `text` is NAME or NAME:KEY=VALUE:KEY=VALUE, each key once. Messages begin with `kind`.
  explicit PolicyOptions(std::string_view text, std::string_view kind = "policy");

  const std::string& policy() const { return policy_; }

  /// One of these words; the first where the option is left out. Throws InvalidInput for any other.
  std::string word(const std::string& key, std::string_view meaning,
                   std::initializer_list<std::string_view> words) const;
  /// A number in least..most, such as 0.5, 1e6 or 2_000_000, or `otherwise` where the option is left out. Throws
  /// InvalidInput for any other.
  double number(const std::string& key, std::string_view meaning, double otherwise, double least, double most) const;
  /// The same without a fraction; 1e6 is one.
  std::int64_t whole(const std::string& key, std::string_view meaning, std::int64_t otherwise, std::int64_t least,
                     std::int64_t most) const;

  /// A time in nanoseconds, rounded to whole ones; its key ends in _ns.
  Duration duration(const std::string& key, std::string_view meaning, Duration otherwise, Duration least,
                    Duration most) const;

  /// Throws InvalidInput where both options are given: one follows from the other.
  void require_not_both(const std::string& key, const std::string& other) const;

  /// Throws InvalidInput naming an option that the policy did not ask for, and those that it did.
  void require_all_known() const;

  /// What was asked for so far.
  std::vector<OptionEntry> described() const;

 private:
  const std::string* find(OptionEntry option) const;
  double number(OptionEntry option, double otherwise, double least, double most) const;
  std::string shown() const { return kind_ + " '" + policy_ + "'"; }

  std::string kind_ = "policy";
  std::string policy_;
  std::map<std::string, std::string> values_;
  mutable std::map<std::string, OptionEntry> asked_;
};

}  // namespace gpushare
