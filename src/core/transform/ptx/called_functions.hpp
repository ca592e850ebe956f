// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/transform/ptx/ptx_module.hpp"

namespace gpushare::ptx {

/// The functions that a function calls, directly or not, as far as this module holds their bodies.
std::vector<const Function*> callees(const Module& module, const Function& function);
/// The names of the functions that an entry calls. Throws InvalidInput where the text is no PTX, or has no such entry.
std::vector<std::string> called_functions(const std::string& ptx, const std::string& entry);

/// Finds instructions of some kind in a function and its callees.
class CalledInstructions {
 public:
  using IsOfKind = std::function<bool(const Instruction&)>;

  /// `called`: the callees of the function in question.
  CalledInstructions(const Module& module, const std::vector<const Function*>& called, IsOfKind is_of_kind);

  /// Has any of these functions one?
  bool any() const { return !reaching_.empty(); }
  /// Is this one of them, or a call that may arrive at one? A call that names no function goes through a pointer, and
  /// may arrive at any.
  bool may_be_executed_by(const Instruction& instruction) const;

 private:
  bool may_be_reached(const Instruction& call) const;

  const Module& module_;
  IsOfKind is_of_kind_;
  std::unordered_set<const Function*> reaching_;
};

}  // namespace gpushare::ptx
