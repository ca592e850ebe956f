// SPDX-License-Identifier: Apache-2.0
#include "core/transform/ptx/kernel_parameters.hpp"

#include <algorithm>
#include <set>
#include <string_view>

#include "core/transform/ptx/ptx_module.hpp"

namespace gpushare::ptx {
namespace {

using Names = std::set<std::string_view>;

/// The parameters that are converted to addresses in global memory. PTX is in SSA form where a compiler wrote
/// it: the register that a parameter is loaded to has no other value.
Names converted_to_addresses(const Module& module, const Function& entry) {
  Names converted;
  Names registers;
  for (const Statement& statement : entry.statements) {
    const auto* instruction = std::get_if<Instruction>(&statement);
    if (instruction == nullptr || !instruction->opcode.starts_with("cvta.to.")) continue;
    if (instruction->operands.size() == 2) registers.insert(module.source(instruction->operands[1]));
  }
  for (const Statement& statement : entry.statements) {
    const auto* instruction = std::get_if<Instruction>(&statement);
    if (instruction == nullptr || !instruction->opcode.starts_with("ld.param")) continue;
    if (instruction->operands.size() != 2 || !registers.contains(module.source(instruction->operands[0]))) continue;
    const TokenRange address = instruction->operands[1];
    if (address.size() == 3) converted.insert(module.token(address.begin + 1).text);  // [name], no offset
  }
  return converted;
}

KernelSignature signature(const Module& module, const Function& entry) {
  const Names converted = converted_to_addresses(module, entry);
  KernelSignature found{.name = std::string(entry.name)};
  for (const Parameter& parameter : entry.parameters) {
    const bool is_pointer = parameter.bytes == 8 && (converted.contains(parameter.name) || parameter.is_marked_pointer);
    found.parameters.push_back(
        {std::string(parameter.name), std::string(parameter.type), parameter.bytes, parameter.alignment, is_pointer});
  }
  return found;
}

}  // namespace

std::vector<KernelSignature> kernel_signatures(const std::string& ptx) {
  const Module module(ptx);
  std::vector<KernelSignature> found;
  for (const Function& function : module.functions) {
    if (function.is_entry && function.has_body && !function.name.empty()) found.push_back(signature(module, function));
  }
  return found;
}

}  // namespace gpushare::ptx
