// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/transform/flow/cycles.hpp"

namespace gpushare::ptx {

/// Numbers the values that stay as they are while a thread runs the function, so that equal ones are found in different
/// registers (value numbering). Of integers, `x != y` has the number of `x == y`, negated.
class FixedValues {
 public:
  FixedValues(const Module& module, const Function& function, const ControlFlow& flow, const Cycles& cycles);

  struct Value {
    std::size_t number = 0;
    bool negated = false;
  };

  /// The value of a register, a variable's name or a number; nothing where it may change or is not known.
  std::optional<Value> of(std::string_view word);
  /// The value of an address operand: [%r1+8].
  std::optional<Value> of_address(TokenRange operand);

 private:
  std::optional<Value> find(std::string_view word);
  std::optional<Value> computed(const Instruction& instruction);
  std::optional<std::string> described(TokenRange operand);
  Value numbered(const std::string& description);
  bool is_parameter_load(const Instruction& instruction) const;

  const Module& module_;
  const Function& function_;
  const ControlFlow& flow_;
  const Cycles& cycles_;
  std::unordered_map<std::string_view, std::vector<std::size_t>> writers_;  ///< of registers, as statements
  std::unordered_map<std::string_view, std::optional<Value>> known_;
  std::unordered_map<std::string, std::size_t> numbers_;
  int depth_ = 0;
};

}  // namespace gpushare::ptx
