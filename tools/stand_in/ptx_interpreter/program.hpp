// SPDX-License-Identifier: Apache-2.0
// A PTX module decoded for execution.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/transform/ptx/ptx_module.hpp"
#include "ptx_interpreter/operation.hpp"
#include "ptx_interpreter/special_registers.hpp"
#include "ptx_interpreter/variable.hpp"

namespace gpushare::interpreter {

/// A slot whose value is known only when a frame is made.
struct FrameValue {
  enum class Kind : std::uint8_t { Special, Variable, DynamicShared, Local };
  Kind kind{};
  Slot slot = 0;
  SpecialRegister special{};
  std::size_t index = 0;  ///< of a global or constant variable; offset for the other two
  std::int64_t plus = 0;  ///< bytes from the variable's beginning
};

/// Bytes in a frame's part of local memory: variables, and parameters handed over in calls.
struct LocalBytes {
  std::size_t offset = 0;
  std::size_t bytes = 0;
};

struct CallSite {
  std::optional<std::size_t> function;  ///< nothing: called through a register
  Slot address = no_slot;
  std::vector<LocalBytes> arguments;
  std::vector<LocalBytes> results;
};

struct FunctionCode {
  std::string name;
  bool is_entry = false;
  bool has_body = false;
  std::vector<Operation> operations;
  std::vector<std::uint64_t> slots;  ///< a frame's registers at the start: poison, and constants
  std::vector<FrameValue> frame_values;
  std::size_t local_bytes = 0;
  std::size_t static_shared_bytes = 0;  ///< with all that is declared outside of entries
  std::size_t parameter_bytes = 0;      ///< of an entry
  std::vector<LocalBytes> parameters;   ///< of an entry: offsets among the parameters; of a function: in its frame
  std::vector<LocalBytes> results;
  std::vector<CallSite> calls;
  std::vector<std::vector<std::uint32_t>> branch_tables;
};

/// Function pointers are these addresses, one apart for each function.
constexpr std::uint64_t first_function_address = 0x7d00'0000'0000;
constexpr std::uint64_t function_address_step = 16;

class Program {
 public:
  /// Throws InvalidInput, naming the line, for anything the interpreter does not know.
  explicit Program(const ptx::Module& module);
  Program(const Program&) = delete;  // memories know programs by address
  Program& operator=(const Program&) = delete;

  const FunctionCode& entry(std::string_view name) const;
  const FunctionCode& function(std::size_t index) const { return functions_.at(index); }
  /// The function at a function pointer; null if there is none.
  const FunctionCode* function_at(std::uint64_t address) const;
  std::optional<std::uint64_t> function_address(std::string_view name) const;
  const std::vector<Variable>& variables() const { return variables_; }
  /// The instruction on this line as the PTX has it, for messages.
  std::string source_line(std::uint32_t line) const;

 private:
  std::vector<FunctionCode> functions_;
  std::vector<Variable> variables_;
  std::vector<std::string> lines_;
};

}  // namespace gpushare::interpreter
