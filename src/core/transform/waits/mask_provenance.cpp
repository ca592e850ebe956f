// SPDX-License-Identifier: Apache-2.0
#include "core/transform/waits/mask_provenance.hpp"

#include <algorithm>

#include "core/transform/flow/data_flow.hpp"

namespace gpushare::ptx {
namespace {

bool asks(const Instruction& instruction, bool divergent) {
  const std::string_view operation = instruction.operation();
  if (operation == "activemask") return divergent;
  return operation == "match" || (operation == "vote" && instruction.has("ballot"));
}

bool passes_on(const Instruction& instruction) {
  const std::string_view operation = instruction.operation();
  return operation == "mov" || operation == "and" || operation == "or";
}

}  // namespace

/// Masks count as answered until a statement contradicts it, so that they may pass through loops.
MaskProvenance::MaskProvenance(const Module& module, const Function& function, const std::vector<bool>& divergent)
    : module_(module) {
  std::vector<const Instruction*> passing;
  for (std::size_t index = 0; index < function.statements.size(); ++index) {
    const auto* instruction = std::get_if<Instruction>(&function.statements[index]);
    if (instruction == nullptr) continue;
    const auto names = names_written(module, *instruction);
    written_.insert(names.begin(), names.end());
    if (asks(*instruction, divergent[index])) {
      if (is_shrinking_vote(*instruction)) shrinking_.insert(names.begin(), names.end());
      for (const std::string_view name : names) sources_[name].push_back(index);
      continue;
    }
    if (!divergent[index] && names_all_lanes(*instruction)) {
      whole_.insert(names.begin(), names.end());
      continue;
    }
    if (!passes_on(*instruction)) {
      for (const std::string_view name : names) note_computed(name);
      continue;
    }
    passing.push_back(instruction);
    for (const std::string_view source : names_read(module, *instruction)) {
      passed_on_[source].push_back(instruction);
      for (const std::string_view name : names) passed_from_[name].push_back(source);
    }
  }
  for (const std::string_view name : whole_) {
    if (!shrinking_.contains(name)) note_computed(name);
  }
  for (const Instruction* instruction : passing) {
    if (!is_computed(*instruction)) continue;
    for (const std::string_view name : names_written(module, *instruction)) note_computed(name);
  }
  spread();
}

std::vector<std::size_t> MaskProvenance::sources(std::string_view name) const {
  std::vector<std::size_t> found;
  std::unordered_set<std::string_view> seen{name};
  std::vector<std::string_view> open{name};
  while (!open.empty()) {
    const std::string_view next = open.back();
    open.pop_back();
    if (const auto answered = sources_.find(next); answered != sources_.end()) {
      found.insert(found.end(), answered->second.begin(), answered->second.end());
    }
    const auto origins = passed_from_.find(next);
    if (origins == passed_from_.end()) continue;
    for (const std::string_view source : origins->second) {
      if (contains(source) && seen.insert(source).second) open.push_back(source);
    }
  }
  return found;
}

/// mask = __ballot_sync(mask, ...): the lanes in it continue, the others leave the loop.
bool MaskProvenance::is_shrinking_vote(const Instruction& instruction) const {
  const std::string_view mask = single_name(module_, instruction, instruction.operands.size() - 1);
  return instruction.operation() == "vote" && !mask.empty() && mask == single_name(module_, instruction, 0);
}

bool MaskProvenance::names_all_lanes(const Instruction& instruction) const {
  if (instruction.operation() != "mov" || instruction.operands.size() != 2) return false;
  const auto number = parsed_number(module_, instruction.operands[1]);
  return number && static_cast<std::uint32_t>(*number) == ~std::uint32_t{0};
}

void MaskProvenance::spread() {
  while (!open_.empty()) {
    const auto readers = passed_on_.find(open_.back());
    open_.pop_back();
    if (readers == passed_on_.end()) continue;
    for (const Instruction* reader : readers->second) {
      if (!is_computed(*reader)) continue;
      for (const std::string_view name : names_written(module_, *reader)) note_computed(name);
    }
  }
}

/// A part of an answered mask is an answered mask, whatever selects the part.
bool MaskProvenance::is_computed(const Instruction& instruction) const {
  std::size_t answered = 0;
  for (std::size_t operand = 1; operand < instruction.operands.size(); ++operand) {
    if (contains(single_name(module_, instruction, operand))) ++answered;
  }
  return instruction.operation() == "and" ? answered == 0 : answered + 1 < instruction.operands.size();
}

void MaskProvenance::note_computed(std::string_view name) {
  if (computed_.insert(name).second) open_.push_back(name);
}

}  // namespace gpushare::ptx
