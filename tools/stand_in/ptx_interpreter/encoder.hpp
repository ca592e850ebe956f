// SPDX-License-Identifier: Apache-2.0
// Decodes one function. The rules (rules.hpp) say for each instruction which handler it gets and what its operands are;
// this class knows operands, scopes, constants and labels.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/transform/ptx/ptx_module.hpp"
#include "ptx_interpreter/program.hpp"
#include "ptx_interpreter/symbols.hpp"

namespace gpushare::interpreter {

/// What functions of a module share.
struct ModuleNames {
  const ptx::Module& module;
  Symbols symbols;  ///< variables and functions
  std::size_t shared_bytes = 0;
  std::vector<std::size_t> line_starts;

  std::uint32_t line_of(std::size_t offset) const;
};

class Encoder {
 public:
  explicit Encoder(ModuleNames& names) : names_(names), symbols_(names.symbols) {}

  FunctionCode encode(const ptx::Function& function);

  // For the rules: the instruction at hand.
  Operation& operation() { return operation_; }
  FunctionCode& code() { return code_; }
  bool has(std::string_view suffix) const { return instruction_->has(suffix); }
  std::vector<std::string_view> suffixes() const;
  std::string_view opcode() const { return instruction_->opcode; }
  std::size_t operands() const { return instruction_->operands.size(); }
  /// The types among the suffixes, in order: cvt.rn.f32.s32 has two. Fails where there are fewer.
  Scalar type(std::size_t index = 0) const;
  std::string_view word(std::size_t operand) const;

  /// A register to read, or a constant of this type. A predicate may be negated.
  Slot source(std::size_t operand, Scalar type);
  Slot destination(std::size_t operand);
  /// Both of d|p; the second is a slot that is never read where there is none.
  std::pair<Slot, Slot> destinations(std::size_t operand);
  /// The elements of {a, b}; one where there are no braces.
  std::vector<Slot> sources(std::size_t operand, Scalar type);
  std::vector<Slot> vector_destinations(std::size_t operand);
  /// The names in (a, b).
  std::vector<std::string_view> list(std::size_t operand) const;
  /// [register+4], [variable], [12]: sets address, offset, narrow and, where the name tells, space.
  void address(std::size_t operand);
  void branch_to(std::size_t operand);
  void branch_table(std::size_t operand);
  const Symbol* find(std::string_view name) const { return symbols_.find(name); }
  /// The slot of a register, variable or special register of this name.
  Slot value(std::string_view name) { return value_slot(name, 0); }

  Slot constant(std::uint64_t bits);
  Slot scratch();
  /// Null means that the instruction has no handler for its type.
  void use(Handler handler);
  /// Puts an operation before the one at hand.
  void emit_before(const Operation& operation);
  [[noreturn]] void fail(const std::string& what) const;

 private:
  struct Fixup {
    std::size_t operation = 0;
    std::string_view label;
    std::size_t scope = 0;
    const ptx::Instruction* instruction = nullptr;
  };

  std::string_view text(ptx::TokenRange range, std::size_t index) const;
  void encode_parameters(const ptx::Function& function);
  void encode(const ptx::Label& label);
  void encode(const ptx::Block& block);
  void encode(const ptx::Declaration& declaration);
  void encode(const ptx::Instruction& instruction);
  void declare_registers(ptx::TokenRange tokens);
  void declare_variables(ptx::TokenRange tokens);
  void declare_branch_targets(const ptx::Declaration& declaration);
  std::size_t reserve_local(std::size_t bytes, std::size_t alignment);
  void resolve_labels();
  std::uint32_t resolve(std::string_view label, const Fixup& fixup);

  Slot new_slot(std::uint64_t initial);
  Slot value_slot(std::string_view name, std::int64_t plus);
  Slot symbol_slot(const Symbol& symbol, std::int64_t plus);
  Slot special_slot(std::string_view name);
  Slot frame_slot(FrameValue value);
  Slot inverted(Slot predicate);
  Slot source_of(ptx::TokenRange tokens, Scalar type);
  Slot destination_of(ptx::TokenRange tokens);
  std::vector<ptx::TokenRange> elements(ptx::TokenRange tokens) const;
  std::int64_t integer(ptx::TokenRange tokens) const;

  ModuleNames& names_;
  Symbols symbols_;
  FunctionCode code_;
  const ptx::Instruction* instruction_ = nullptr;
  Operation operation_;
  std::vector<Fixup> branches_, tables_;
  std::map<std::uint64_t, Slot> constants_;
  std::map<std::tuple<int, std::uint64_t, std::int64_t>, Slot> frame_slots_;
  std::map<std::string, Slot, std::less<>> special_slots_;
  Slot scratch_ = no_slot;
};

}  // namespace gpushare::interpreter
