// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/transform/ptx/ptx_module.hpp"

namespace gpushare::ptx {

/// Knows which masks hold only lanes that have answered: what activemask, votes and matches have found, copies of that,
/// and parts of it; and masks of all lanes, set where all are there, that then shrink by votes among themselves.
class AskedMasks {
 public:
  /// `divergent`: by statement, may lanes have gone before? Where none can have, `activemask` names all of them.
  AskedMasks(const Module& module, const Function& function, const std::vector<bool>& divergent);

  bool contains(std::string_view name) const { return written_.contains(name) && !made_up_.contains(name); }
  /// The statements that have asked for it.
  std::vector<std::size_t> askers(std::string_view name) const;

 private:
  bool asks_itself(const Instruction& instruction) const;
  bool names_all_lanes(const Instruction& instruction) const;
  bool is_made_up(const Instruction& instruction) const;
  void note_made_up(std::string_view name);
  void spread();

  const Module& module_;
  std::unordered_set<std::string_view> written_;
  std::unordered_set<std::string_view> made_up_;
  std::unordered_map<std::string_view, std::vector<std::size_t>> asked_by_;
  std::unordered_map<std::string_view, std::vector<std::string_view>> passed_from_;
  std::unordered_set<std::string_view> whole_;
  std::unordered_set<std::string_view> shrinking_;
  std::unordered_map<std::string_view, std::vector<const Instruction*>> passed_on_;  ///< by name, where it is read
  std::vector<std::string_view> open_;
};

}  // namespace gpushare::ptx
