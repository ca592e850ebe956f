// SPDX-License-Identifier: Apache-2.0
// Declarations of variables: .global .align 4 .u32 table[2][3] = {{1, 2, 3}, {4}};
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/transform/ptx/ptx_module.hpp"
#include "ptx_interpreter/operation.hpp"

namespace gpushare::interpreter {

/// An initial value that is the address of something: a variable or a function.
struct AddressValue {
  std::size_t offset = 0;  ///< where in the variable
  std::size_t bytes = 0;
  std::string name;
  std::int64_t plus = 0;
};

struct Variable {
  std::string name;
  Space space = Space::Global;
  bool is_extern = false;  ///< .extern .shared x[]: the dynamic shared memory
  std::size_t alignment = 1;
  std::size_t bytes = 0;
  std::vector<std::byte> initial;  ///< as many bytes as it has; empty for .shared and .local
  std::vector<AddressValue> addresses;
  std::size_t offset = 0;  ///< in the shared window
};

/// Reads the variables that the tokens from the state space to the semicolon declare. There may be several: a, b[4].
std::vector<Variable> parse_variables(const ptx::Module& module, ptx::TokenRange tokens);

/// The module-scope variables, in the order they are declared.
std::vector<Variable> module_variables(const ptx::Module& module);

/// The next multiple of the alignment.
constexpr std::size_t align_up(std::size_t value, std::size_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

}  // namespace gpushare::interpreter
