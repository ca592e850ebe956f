// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unordered_set>
#include <vector>

#include "core/transform/ptx_module.hpp"

namespace gpushare::ptx {

/// The functions that a function calls, directly or not, as far as this module holds their bodies.
std::vector<const Function*> callees(const Module& module, const Function& function);

/// Answers whether calls arrive at instructions of some kind.
class CalledInstructions {
 public:
  using IsOfKind = bool (*)(const Instruction&);

  /// `called`: the callees of the function whose calls are asked about.
  CalledInstructions(const Module& module, const std::vector<const Function*>& called, IsOfKind is_of_kind);

  /// A call that names no function goes through a pointer, to whichever.
  bool may_be_reached(const Instruction& call) const;

 private:
  const Module& module_;
  std::unordered_set<const Function*> reaching_;
};

}  // namespace gpushare::ptx
