// SPDX-License-Identifier: Apache-2.0
#include "core/transform/waits/spin_loop_detector.hpp"

#include <algorithm>

#include "core/transform/flow/data_flow.hpp"
#include "core/transform/waits/memory_reads.hpp"

namespace gpushare::ptx {

SpinLoopDetector::SpinLoopDetector(const Module& module, const Loops& loops, const ExecutedReads& reads)
    : module_(module),
      loops_(loops),
      reads_(reads),
      blocks_(loops.flow, &loops.cycles),
      is_source_(loops.function.statements.size(), false),
      is_exempt_(loops.function.statements.size(), false),
      is_affected_(loops.function.statements.size(), false) {}

bool SpinLoopDetector::any(std::size_t cycle) {
  find_sources(cycle);
  if (open_.empty()) return false;
  readers_ = {};
  writers_ = {};
  origins_ = {};
  affected_names_ = {};
  loops_.for_each_instruction_in(cycle, [&](std::size_t index, const Instruction& each) { note(index, each); });
  for (const std::size_t source : open_) exempt_retry(source, instruction(source));
  while (!open_.empty()) {
    const std::size_t index = open_.back();
    open_.pop_back();
    if (spread(index)) return true;
  }
  return false;
}

/// Plain loads are among them where a fence in the loop makes them see writes of other blocks.
void SpinLoopDetector::find_sources(std::size_t cycle) {
  bool fenced = false;
  loops_.for_each_instruction_in(
      cycle, [&](std::size_t, const Instruction& each) { fenced |= reads_.fences.may_be_executed_by(each); });
  loops_.for_each_instruction_in(cycle, [&](std::size_t index, const Instruction& each) {
    is_source_[index] = reads_.news.may_be_executed_by(each) || (fenced && reads_.plain_loads.may_be_executed_by(each));
    if (is_source_[index]) affect(index);
  });
}

void SpinLoopDetector::note(std::size_t index, const Instruction& each) {
  for (const std::string_view name : names_read(module_, each)) readers_[name].push_back(index);
  for (const std::string_view name : names_written(module_, each)) writers_[name].push_back(index);
}

/// A compare-and-swap that retries with the value that it found fails only where another thread has made progress. So
/// its comparison is no wait.
void SpinLoopDetector::exempt_retry(std::size_t index, const Instruction& exchange) {
  if (exchange.operation() != "atom" || !exchange.has("cas") || !retries_with_found_value(exchange)) return;
  const std::string_view found = single_name(module_, exchange, 0);
  const std::string_view given = single_name(module_, exchange, 2);
  if (writers_[found] != std::vector{index}) return;
  for (const std::size_t reader : readers_[found]) {
    const Instruction& each = instruction(reader);
    if (each.operation() != "setp" || each.operands.size() != 3 || !(each.has("eq") || each.has("ne"))) continue;
    const std::string_view left = single_name(module_, each, 1);
    const std::string_view right = single_name(module_, each, 2);
    is_exempt_[reader] = (left == found && right == given) || (left == given && right == found);
  }
}

/// In the loop, the value that it compares with comes from itself, or from a load of the same place before the first
/// try.
bool SpinLoopDetector::retries_with_found_value(const Instruction& exchange) {
  if (exchange.operands.size() != 4) return false;
  const std::string_view found = single_name(module_, exchange, 0);
  const std::string_view given = single_name(module_, exchange, 2);
  if (found.empty() || !writers_.contains(given)) return false;
  const auto [origin, is_new] = origins_.try_emplace(given);
  if (is_new) origin->second = origin_of(given);
  const auto& [copied, address] = origin->second;
  return copied == found && (!address || *address == module_.source(exchange.operands[1]));
}

/// Many exchanges may be given the same, so this is found once for all of them.
SpinLoopDetector::Origin SpinLoopDetector::origin_of(std::string_view name) const {
  constexpr Origin several{};
  Origin origin;
  for (const std::size_t writer : writers_.at(name)) {
    const Instruction& each = instruction(writer);
    const bool loads = is_plain_load(each) && each.operands.size() == 2;
    const std::string_view copied = each.operation() == "mov" ? single_name(module_, each, 1) : std::string_view();
    if (!each.predicate.empty() || (!loads && copied.empty())) return several;
    auto& source = loads ? origin.address : origin.copied;
    const std::string_view present = loads ? module_.source(each.operands[1]) : copied;
    if (source.value_or(present) != present) return several;
    source = present;
  }
  return origin;
}

void SpinLoopDetector::affect(std::size_t index) {
  if (is_affected_[index] || is_exempt_[index]) return;
  is_affected_[index] = true;
  open_.push_back(index);
}

/// True if a source depends on a source.
bool SpinLoopDetector::spread(std::size_t index) {
  const std::size_t block = loops_.flow.block_of(index);
  const bool is_last = index + 1 == loops_.flow.blocks()[block].end;
  if (is_last && loops_.flow.blocks()[block].decides() && spread_choice(block)) return true;
  for (const std::string_view name : names_written(module_, instruction(index))) {
    if (!affected_names_.insert(name).second) continue;
    for (const std::size_t reader : readers_[name]) affect(reader);
  }
  return false;
}

bool SpinLoopDetector::spread_choice(std::size_t block) {
  const std::size_t cycle = loops_.cycles.of(block);
  for (const std::size_t successor : loops_.flow.blocks()[block].successors) {
    if (loops_.cycles.of(successor) != cycle) return true;  // all that is in the cycle is run again or not
  }
  for (const std::size_t added : blocks_.add_choice(block)) {
    for (std::size_t index = loops_.flow.blocks()[added].begin; index < loops_.flow.blocks()[added].end; ++index) {
      if (is_source_[index]) return true;
      if (std::holds_alternative<Instruction>(loops_.function.statements[index])) affect(index);
    }
  }
  return false;
}

}  // namespace gpushare::ptx
