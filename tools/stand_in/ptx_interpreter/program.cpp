// SPDX-License-Identifier: Apache-2.0
#include "ptx_interpreter/program.hpp"

#include <algorithm>

#include "core/model/errors.hpp"
#include "ptx_interpreter/encoder.hpp"

namespace gpushare::interpreter {
namespace {

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    const std::size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
    lines.emplace_back(line.substr(begin));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return lines;
}

ModuleNames names_of(const ptx::Module& module, std::vector<Variable>& variables) {
  ModuleNames names{.module = module, .line_starts = {0}};
  for (std::size_t i = 0; i < module.text.size(); ++i) {
    if (module.text[i] == '\n') names.line_starts.push_back(i + 1);
  }
  for (std::size_t i = 0; i < variables.size(); ++i) {
    Variable& each = variables[i];
    Symbol symbol{.kind = Symbol::Kind::Variable, .bytes = each.bytes, .place = i};
    if (each.space == Space::Shared && each.bytes == 0) {
      symbol.kind = Symbol::Kind::DynamicShared;
    } else if (each.space == Space::Shared) {
      symbol.kind = Symbol::Kind::Shared;
      symbol.place = each.offset = align_up(names.shared_bytes, each.alignment);
      names.shared_bytes = each.offset + each.bytes;
    }
    names.symbols.define(each.name, symbol);
  }
  return names;
}

/// Functions by name, a body preferred to a forward declaration.
std::vector<const ptx::Function*> distinct_functions(const ptx::Module& module) {
  std::vector<const ptx::Function*> functions;
  for (const ptx::Function& each : module.functions) {
    const auto known = std::ranges::find(functions, each.name, [](const ptx::Function* f) { return f->name; });
    if (known == functions.end()) {
      functions.push_back(&each);
    } else if (each.has_body) {
      *known = &each;
    }
  }
  return functions;
}

}  // namespace

Program::Program(const ptx::Module& module) : variables_(module_variables(module)), lines_(split_lines(module.text)) {
  ModuleNames names = names_of(module, variables_);
  const std::vector<const ptx::Function*> functions = distinct_functions(module);
  for (std::size_t i = 0; i < functions.size(); ++i) {
    names.symbols.define(std::string(functions[i]->name), {.kind = Symbol::Kind::Function, .place = i});
  }
  functions_.resize(functions.size());
  // Entries come last: their shared variables lie behind those of all functions, which they may call.
  for (const bool entries : {false, true}) {
    for (std::size_t i = 0; i < functions.size(); ++i) {
      if (functions[i]->is_entry == entries) functions_[i] = Encoder(names).encode(*functions[i]);
    }
  }
}

const FunctionCode& Program::entry(std::string_view name) const {
  for (const FunctionCode& each : functions_) {
    if (each.is_entry && each.has_body && each.name == name) return each;
  }
  throw InvalidInput("no kernel '" + std::string(name) + "' in this program");
}

const FunctionCode* Program::function_at(std::uint64_t address) const {
  const std::uint64_t index = (address - first_function_address) / function_address_step;
  const bool exact = (address - first_function_address) % function_address_step == 0;
  return exact && index < functions_.size() ? &functions_[index] : nullptr;
}

std::optional<std::uint64_t> Program::function_address(std::string_view name) const {
  for (std::size_t i = 0; i < functions_.size(); ++i) {
    if (functions_[i].name == name) return first_function_address + i * function_address_step;
  }
  return std::nullopt;
}

std::string Program::source_line(std::uint32_t line) const {
  return line >= 1 && line <= lines_.size() ? lines_[line - 1] : "";
}

}  // namespace gpushare::interpreter
