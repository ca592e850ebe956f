// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/transform/ptx/ptx_module.hpp"

namespace gpushare::ptx {

/// Finds the masks that hold only lanes that have answered: results of activemask, votes and matches, their copies and
/// parts; and masks of all lanes, set where all are present, that then shrink by votes among their lanes.
class MaskProvenance {
 public:
  /// `divergent`: by statement, may lanes be missing? Where none can be, `activemask` names all of them.
  MaskProvenance(const Module& module, const Function& function, const std::vector<bool>& divergent);

  bool contains(std::string_view name) const { return written_.contains(name) && !computed_.contains(name); }
  /// The statements that produced the answers in the mask.
  std::vector<std::size_t> sources(std::string_view name) const;

 private:
  bool is_shrinking_vote(const Instruction& instruction) const;
  bool names_all_lanes(const Instruction& instruction) const;
  bool is_computed(const Instruction& instruction) const;
  void note_computed(std::string_view name);
  void spread();

  const Module& module_;
  std::unordered_set<std::string_view> written_;
  std::unordered_set<std::string_view> computed_;
  std::unordered_map<std::string_view, std::vector<std::size_t>> sources_;
  std::unordered_map<std::string_view, std::vector<std::string_view>> passed_from_;
  std::unordered_set<std::string_view> whole_;
  std::unordered_set<std::string_view> shrinking_;
  std::unordered_map<std::string_view, std::vector<const Instruction*>> passed_on_;  ///< by name, where it is read
  std::vector<std::string_view> open_;
};

}  // namespace gpushare::ptx
