// SPDX-License-Identifier: Apache-2.0
#include "core/transform/polling_branches.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "core/transform/data_flow.hpp"

namespace gpushare::ptx {
namespace {

/// Who waits looks at a flag; what is computed from more statements than this is no flag.
constexpr std::size_t longest_origin = 32;
/// Of all walks together. A function in which that is not enough is taken for one that waits.
constexpr std::size_t most_walk_steps = 2'000'000;

}  // namespace

PollingBranches::PollingBranches(const Module& module, const Loops& loops, const ExecutedReads& reads)
    : module_(module), loops_(loops), reads_(reads), visited_(2 * (loops.flow.exit_block() + 1), 0) {
  std::size_t call = 0;
  for (std::size_t index = 0; index < loops.function.statements.size(); ++index) {
    call_before_.push_back(call);
    const auto* each = std::get_if<Instruction>(&loops.function.statements[index]);
    if (each != nullptr && each->operation() == "call") call = index;
  }
}

bool PollingBranches::any(std::size_t cycle) {
  find_writers(cycle);
  return std::ranges::any_of(loops_.cycles.all()[cycle], [&](std::size_t block) {
    if (!loops_.flow.blocks()[block].decides()) return false;
    const auto* last = std::get_if<Instruction>(&loops_.function.statements[loops_.flow.blocks()[block].end - 1]);
    if (last == nullptr || last->predicate.empty()) return false;
    const std::optional<Origin> found = origin(loops_.flow.blocks()[block].end - 1);
    return found && comes_back(block, *found);
  });
}

void PollingBranches::find_writers(std::size_t cycle) {
  writers_ = {};
  loops_.for_each_instruction_in(cycle, [&](std::size_t index, const Instruction& each) {
    for (const std::string_view name : names_written(module_, each)) writers_[name].push_back(index);
  });
}

/// Of what the branch goes by. Nothing where it has too many statements, comes from other threads of the block, or from
/// a clock.
std::optional<PollingBranches::Origin> PollingBranches::origin(std::size_t branch) const {
  Origin found;
  std::vector<std::pair<std::string_view, std::size_t>> open{{instruction(branch).predicate, branch}};
  while (!open.empty()) {
    const auto [name, reader] = open.back();
    open.pop_back();
    for (const std::size_t writer : writers_for(name, reader)) {
      if (std::ranges::find(found.statements, writer) != found.statements.end()) continue;
      if (found.statements.size() == longest_origin || !may_be_of_origin(instruction(writer))) return std::nullopt;
      found.statements.push_back(writer);
      for (const std::string_view read : names_read(module_, instruction(writer))) {
        if (read.starts_with("%clock") || read.starts_with("%global")) return std::nullopt;
        open.emplace_back(read, writer);
      }
    }
  }
  find_changes(found);
  return found;
}

/// The statements of the cycle that may have written what the reader finds under this name. Memory of the block, which
/// is read by generic addresses and in called functions, is not followed.
std::span<const std::size_t> PollingBranches::writers_for(std::string_view name, std::size_t reader) const {
  const auto found = writers_.find(name);
  if (found == writers_.end() || name.starts_with('[')) return {};
  const std::vector<std::size_t>& all = found->second;
  const bool is_handed_back = instruction(reader).operation() == "ld" && instruction(reader).has("param");
  const bool is_handed_over = instruction(all.front()).operation() == "st";
  if (!is_handed_back && !is_handed_over) return all;
  // Parameters have the same names in call after call, and stand right beside their own.
  return {std::ranges::lower_bound(all, call_before_[reader]), std::ranges::lower_bound(all, reader)};
}

/// Atomics are SelfDecidingReads' business.
bool PollingBranches::may_be_of_origin(const Instruction& each) const {
  constexpr std::array<std::string_view, 12> others{"atom",  "shfl", "vote", "match", "redux",   "ldmatrix",
                                                    "elect", "bar",  "tex",  "suld",  "barrier", "activemask"};
  const std::string_view operation = each.operation();
  if (operation == "ld" && (each.names_space("shared") || each.names_space("local"))) return false;
  return std::ranges::find(others, operation) == others.end();
}

void PollingBranches::find_changes(Origin& origin) const {
  const std::size_t count = origin.statements.size();
  std::array<std::uint32_t, longest_origin> needs{};  // by statement: those it depends on
  for (std::size_t reader = 0; reader < count; ++reader) {
    for (const std::string_view name : names_read(module_, instruction(origin.statements[reader]))) {
      for (const std::size_t each : writers_for(name, origin.statements[reader])) {
        const auto writer = std::ranges::find(origin.statements, each) - origin.statements.begin();
        needs[reader] |= std::uint32_t{1} << writer;
      }
    }
  }
  for (std::size_t through = 0; through < count; ++through) {
    for (std::size_t each = 0; each < count; ++each) {
      if ((needs[each] >> through & 1) != 0) needs[each] |= needs[through];
    }
  }
  for (std::size_t each = 0; each < count; ++each) origin.changes.push_back((needs[each] >> each & 1) != 0);
}

/// Is there a way from this block to itself that passes a load of the origin, nothing that changes by itself, and not
/// the point where all ways out of the block meet?
bool PollingBranches::comes_back(std::size_t block, const Origin& origin) {
  std::vector<std::size_t> barred{loops_.flow.blocks()[block].meets_at};
  std::vector<std::size_t> loads;
  for (std::size_t index = 0; index < origin.statements.size(); ++index) {
    const std::size_t statement = origin.statements[index];
    if (origin.changes[index]) barred.push_back(loops_.flow.block_of(statement));
    const Instruction& each = instruction(statement);
    if (reads_.plain_loads.may_be_executed_by(each) || reads_.news.may_be_executed_by(each)) {
      loads.push_back(loops_.flow.block_of(statement));
    }
  }
  const auto is_in = [](const auto& list, std::size_t each) { return std::ranges::find(list, each) != list.end(); };
  if (loads.empty() || is_in(barred, block)) return false;
  ++walks_;
  std::vector<std::pair<std::size_t, bool>> open{{block, is_in(loads, block)}};
  while (!open.empty()) {
    const auto [here, has_loaded] = open.back();
    open.pop_back();
    for (const std::size_t next : loops_.flow.blocks()[here].successors) {
      if (++steps_ > most_walk_steps) return true;
      if (loops_.cycles.of(next) != loops_.cycles.of(block) || is_in(barred, next)) continue;
      const bool loaded = has_loaded || is_in(loads, next);
      if (next == block && loaded) return true;
      if (std::exchange(visited_[2 * next + (loaded ? 1 : 0)], walks_) != walks_) open.emplace_back(next, loaded);
    }
  }
  return false;
}

}  // namespace gpushare::ptx
