// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unordered_map>
#include <vector>

#include "core/transform/ptx_module.hpp"

namespace gpushare::ptx {

/// The functions that a function calls, directly or not, as far as this module holds their bodies.
std::vector<const Function*> callees(const Module& module, const Function& function);

/// Answers whether calls arrive at barriers. Each function is looked at once.
class CalledBarriers {
 public:
  /// `called`: the callees of the function whose calls are asked about.
  CalledBarriers(const Module& module, const std::vector<const Function*>& called);

  /// A call that names no function goes through a pointer, to whichever.
  bool may_be_reached(const Instruction& call);

 private:
  bool is_reached_in(const Function& function);

  const Module& module_;
  bool any_ = false;
  std::unordered_map<const Function*, bool> known_;
};

}  // namespace gpushare::ptx
