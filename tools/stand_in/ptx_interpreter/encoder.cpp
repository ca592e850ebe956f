// SPDX-License-Identifier: Apache-2.0
// Functions, declarations, labels. The operands of instructions are in operands.cpp.
#include "ptx_interpreter/encoder.hpp"

#include <algorithm>

#include "core/model/errors.hpp"
#include "ptx_interpreter/block.hpp"
#include "ptx_interpreter/literal.hpp"
#include "ptx_interpreter/rules/rules.hpp"

namespace gpushare::interpreter {
namespace {

/// What a register holds before anything is written to it: nothing to rely on.
constexpr std::uint64_t poison = 0xdead'beef'5eed'f00d;

void run_off_the_end(Thread& thread, const Operation&) { fail(thread, "runs off the end of the function"); }

/// (.param .b32 retval) of a .func stands before its name.
ptx::TokenRange result_list(const ptx::Module& module, const ptx::Function& function) {
  if (function.name_token == 0 || !module.token(function.name_token - 1).is(")")) return {};
  std::size_t begin = function.name_token - 1;
  while (!module.token(begin).is("(")) --begin;
  return {begin + 1, function.name_token - 1};
}

}  // namespace

std::uint32_t ModuleNames::line_of(std::size_t offset) const {
  return static_cast<std::uint32_t>(std::ranges::upper_bound(line_starts, offset) - line_starts.begin());
}

FunctionCode Encoder::encode(const ptx::Function& function) {
  code_.name = function.name;
  code_.is_entry = function.is_entry;
  code_.has_body = function.has_body;
  code_.static_shared_bytes = names_.shared_bytes;
  encode_parameters(function);
  for (const ptx::Statement& statement : function.statements) {
    std::visit([this](const auto& each) { encode(each); }, statement);
  }
  resolve_labels();
  const std::size_t last_token = function.has_body ? function.body.end - 1 : function.name_token;
  code_.operations.push_back(
      {.handler = run_off_the_end, .line = names_.line_of(names_.module.token(last_token).offset)});
  code_.static_shared_bytes = align_up(code_.static_shared_bytes, 16);  // where dynamic shared memory begins
  return std::move(code_);
}

void Encoder::encode_parameters(const ptx::Function& function) {
  for (const ptx::Parameter& each : function.parameters) {
    Symbol symbol{.kind = Symbol::Kind::Local, .bytes = each.bytes};
    if (function.is_entry) {
      symbol.kind = Symbol::Kind::EntryParameter;
      symbol.place = align_up(code_.parameter_bytes, each.alignment);
      code_.parameter_bytes = symbol.place + each.bytes;
    } else {
      symbol.place = reserve_local(each.bytes, each.alignment);
    }
    code_.parameters.push_back({symbol.place, each.bytes});
    symbols_.define(std::string(each.name), symbol);
  }
  const ptx::TokenRange results = result_list(names_.module, function);
  if (results.size() == 0) return;
  for (const Variable& each : parse_variables(names_.module, results)) {
    const std::size_t place = reserve_local(each.bytes, each.alignment);
    code_.results.push_back({place, each.bytes});
    symbols_.define(each.name, {.kind = Symbol::Kind::Local, .bytes = each.bytes, .place = place});
  }
}

void Encoder::encode(const ptx::Label& label) {
  symbols_.define_label(label.name, static_cast<std::uint32_t>(code_.operations.size()));
}

void Encoder::encode(const ptx::Block& block) {
  if (block.brace == ptx::Brace::Open) {
    symbols_.open();
  } else {
    symbols_.close();
  }
}

void Encoder::encode(const ptx::Declaration& declaration) {
  // Inline assembly may leave out the space: ".reg.b16 h;" has ".reg.b16" for its directive.
  const std::string_view directive = declaration.directive.substr(0, declaration.directive.find('.', 1));
  if (directive == ".reg") return declare_registers(declaration.tokens);
  if (directive == ".branchtargets") return declare_branch_targets(declaration);
  if (directive == ".shared" || directive == ".local" || directive == ".param" || directive == ".extern") {
    declare_variables(declaration.tokens);
  }
}

/// .reg .b32 %r<22>, counter;
void Encoder::declare_registers(ptx::TokenRange tokens) {
  const ptx::Module& module = names_.module;
  std::size_t bytes = 8;
  for (std::size_t i = tokens.begin; i < tokens.end; ++i) {
    const ptx::Token& token = module.token(i);
    if (token.text.starts_with('.')) {
      if (const auto type = scalar_named(token.text.substr(token.text.rfind('.') + 1))) bytes = bytes_of(*type);
    } else if (token.kind == ptx::TokenKind::Word && module.token(i + 1).is("<")) {
      const std::uint64_t count = integer_literal(module.token(i + 2).text).value_or(0);
      for (std::uint64_t number = 0; number < count; ++number) {
        symbols_.define(std::string(token.text) + std::to_string(number),
                        {.kind = Symbol::Kind::Register, .slot = new_slot(poison), .bytes = bytes});
      }
    } else if (token.kind == ptx::TokenKind::Word) {
      symbols_.define(std::string(token.text),
                      {.kind = Symbol::Kind::Register, .slot = new_slot(poison), .bytes = bytes});
    }
  }
}

void Encoder::declare_variables(ptx::TokenRange tokens) {
  for (const Variable& each : parse_variables(names_.module, tokens)) {
    Symbol symbol{.kind = Symbol::Kind::Local, .bytes = each.bytes};
    if (each.space == Space::Shared && (each.is_extern || each.bytes == 0)) {
      symbol.kind = Symbol::Kind::DynamicShared;
    } else if (each.space == Space::Shared) {
      // Outside of entries the variable is the module's: no other may use these bytes.
      std::size_t& used = code_.is_entry ? code_.static_shared_bytes : names_.shared_bytes;
      symbol.kind = Symbol::Kind::Shared;
      symbol.place = align_up(used, each.alignment);
      used = symbol.place + each.bytes;
    } else {
      symbol.place = reserve_local(each.bytes, each.alignment);
    }
    symbols_.define(each.name, symbol);
  }
}

std::size_t Encoder::reserve_local(std::size_t bytes, std::size_t alignment) {
  const std::size_t place = align_up(code_.local_bytes, std::max<std::size_t>(alignment, 1));
  code_.local_bytes = place + bytes;
  return place;
}

void Encoder::declare_branch_targets(const ptx::Declaration& declaration) {
  std::vector<std::string> labels;
  for (std::size_t i = declaration.tokens.begin + 3; i + 1 < declaration.tokens.end; ++i) {
    const ptx::Token& token = names_.module.token(i);
    if (token.kind == ptx::TokenKind::Word) labels.emplace_back(token.text);
  }
  symbols_.define_table(declaration.label, std::move(labels));
}

void Encoder::encode(const ptx::Instruction& instruction) {
  instruction_ = &instruction;
  operation_ = {};
  operation_.line = names_.line_of(names_.module.token(instruction.tokens.begin).offset);
  if (!instruction.predicate.empty()) {
    const Symbol* guard = symbols_.find(instruction.predicate);
    if (guard == nullptr) fail("'" + std::string(instruction.predicate) + "' is not declared");
    operation_.guard = guard->slot;
    operation_.negated = instruction.negated;
  }
  const Rule* rule = find_rule(instruction.operation());
  if (rule == nullptr) fail("the interpreter does not know this instruction");
  rule->apply(*this);
  if (operation_.handler != nullptr) code_.operations.push_back(operation_);
}

void Encoder::branch_to(std::size_t operand) {
  branches_.push_back({code_.operations.size(), word(operand), symbols_.current(), instruction_});
}

void Encoder::branch_table(std::size_t operand) {
  tables_.push_back({code_.operations.size(), word(operand), symbols_.current(), instruction_});
}

std::uint32_t Encoder::resolve(std::string_view label, const Fixup& fixup) {
  instruction_ = fixup.instruction;
  const std::uint32_t* found = symbols_.find_label(label, fixup.scope);
  if (found == nullptr) fail("there is no label '" + std::string(label) + "'");
  return *found;
}

void Encoder::resolve_labels() {
  for (const Fixup& each : branches_) code_.operations[each.operation].target = resolve(each.label, each);
  for (const Fixup& each : tables_) {
    instruction_ = each.instruction;
    const std::vector<std::string>* labels = symbols_.find_table(each.label, each.scope);
    if (labels == nullptr) fail("there are no branch targets '" + std::string(each.label) + "'");
    code_.operations[each.operation].target = static_cast<std::uint32_t>(code_.branch_tables.size());
    std::vector<std::uint32_t>& table = code_.branch_tables.emplace_back();
    for (const std::string& label : *labels) table.push_back(resolve(label, each));
  }
}

Slot Encoder::new_slot(std::uint64_t initial) {
  code_.slots.push_back(initial);
  return static_cast<Slot>(code_.slots.size() - 1);
}

void Encoder::emit_before(const Operation& operation) { code_.operations.push_back(operation); }

void Encoder::use(Handler handler) {
  if (handler == nullptr) fail("the interpreter does not know this instruction for this type");
  operation_.handler = handler;
}

void Encoder::fail(const std::string& what) const {
  const std::size_t offset = names_.module.token(instruction_->tokens.begin).offset;
  throw InvalidInput("PTX line " + std::to_string(names_.line_of(offset)) + " `" +
                     std::string(names_.module.source(instruction_->tokens)) + "`: " + what);
}

}  // namespace gpushare::interpreter
