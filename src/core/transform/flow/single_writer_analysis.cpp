// SPDX-License-Identifier: Apache-2.0
#include "core/transform/flow/single_writer_analysis.hpp"

#include <algorithm>

#include "core/transform/flow/data_flow.hpp"

namespace gpushare::ptx {
namespace {

/// A limit to the time that a search takes: most writers are near.
constexpr std::size_t most_blocks = 64;

}  // namespace

SingleWriterAnalysis::SingleWriterAnalysis(const Module& module, const Function& function, const ControlFlow& flow)
    : function_(function), flow_(flow), predecessors_(flow.exit_block() + 1) {
  for (std::size_t block = 0; block < flow.exit_block(); ++block) {
    for (const std::size_t successor : flow.blocks()[block].successors) predecessors_[successor].push_back(block);
  }
  for (std::size_t index = 0; index < function.statements.size(); ++index) {
    const auto* instruction = std::get_if<Instruction>(&function.statements[index]);
    if (instruction == nullptr) continue;
    for (const std::string_view name : names_written(module, *instruction)) writers_[name].push_back(index);
    if (instruction->operands.empty()) continue;
    for (std::size_t token = instruction->operands[0].begin; token < instruction->operands[0].end; ++token) {
      const std::string_view word = module.token(token).text;
      if (without_component(word) != word) in_parts_.insert(without_component(word));
    }
  }
}

std::optional<std::size_t> SingleWriterAnalysis::of(std::string_view name, std::size_t reader) const {
  const auto found = writers_.find(name);
  if (found == writers_.end() || name.starts_with('[') || in_parts_.contains(name)) return std::nullopt;
  const Statements& writers = found->second;
  if (writers.size() == 1) return unless_guarded(writers.front());
  const std::size_t block = flow_.block_of(reader);
  if (const auto writer = last_within(writers, flow_.blocks()[block].begin, reader)) return unless_guarded(*writer);
  const auto writer = only_before(writers, block);
  return writer ? unless_guarded(*writer) : std::nullopt;
}

/// Walks backwards, from each block up to the last writer in it.
std::optional<std::size_t> SingleWriterAnalysis::only_before(const Statements& writers, std::size_t block) const {
  std::optional<std::size_t> only;
  Statements seen = predecessors_[block];
  if (seen.size() > most_blocks) return std::nullopt;
  for (std::size_t next = 0; next < seen.size(); ++next) {
    const BasicBlock& from = flow_.blocks()[seen[next]];
    if (const auto writer = last_within(writers, from.begin, from.end)) {
      if (only && only != writer) return std::nullopt;
      only = writer;
      continue;
    }
    for (const std::size_t predecessor : predecessors_[seen[next]]) {
      if (seen.size() > most_blocks) return std::nullopt;
      if (std::ranges::find(seen, predecessor) == seen.end()) seen.push_back(predecessor);
    }
  }
  return only;
}

std::optional<std::size_t> SingleWriterAnalysis::last_within(const Statements& writers, std::size_t begin,
                                                             std::size_t end) const {
  const auto behind = std::ranges::lower_bound(writers, end);
  if (behind == writers.begin() || *(behind - 1) < begin) return std::nullopt;
  return *(behind - 1);
}

/// Where the guard does not hold, the register keeps its value.
std::optional<std::size_t> SingleWriterAnalysis::unless_guarded(std::size_t writer) const {
  const bool guarded = !std::get<Instruction>(function_.statements[writer]).predicate.empty();
  return guarded ? std::nullopt : std::optional(writer);
}

}  // namespace gpushare::ptx
