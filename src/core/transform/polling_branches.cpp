// SPDX-License-Identifier: Apache-2.0
#include "core/transform/polling_branches.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <utility>

#include "core/transform/data_flow.hpp"
#include "core/transform/memory_reads.hpp"

namespace gpushare::ptx {
namespace {

/// Who waits looks at a flag; what is computed from more statements than this is no flag.
constexpr std::size_t longest_origin = 32;
/// Of all walks together. A function in which that is not enough is taken for one that waits.
constexpr std::size_t most_walk_steps = 2'000'000;

}  // namespace

PollingBranches::PollingBranches(const Module& module, const Function& function, const ControlFlow& flow,
                                 const Cycles& cycles)
    : module_(module), function_(function), flow_(flow), cycles_(cycles), visited_(2 * (flow.exit_block() + 1), 0) {}

const Instruction& PollingBranches::instruction(std::size_t index) const {
  return std::get<Instruction>(function_.statements[index]);
}

bool PollingBranches::any(std::size_t cycle) {
  find_writers(cycle);
  return std::ranges::any_of(cycles_.all()[cycle], [&](std::size_t block) {
    if (!flow_.blocks()[block].decides()) return false;
    const auto* last = std::get_if<Instruction>(&function_.statements[flow_.blocks()[block].end - 1]);
    if (last == nullptr || last->predicate.empty()) return false;
    const std::optional<Origin> found = origin(last->predicate);
    return found && comes_back(block, *found);
  });
}

void PollingBranches::find_writers(std::size_t cycle) {
  writers_ = {};
  for (const std::size_t block : cycles_.all()[cycle]) {
    for (std::size_t index = flow_.blocks()[block].begin; index < flow_.blocks()[block].end; ++index) {
      const auto* each = std::get_if<Instruction>(&function_.statements[index]);
      if (each == nullptr) continue;
      for (const std::string_view name : names_written(module_, *each)) writers_[name].push_back(index);
    }
  }
}

/// Nothing where it has too many statements, comes from other threads of the block, or from a clock.
std::optional<PollingBranches::Origin> PollingBranches::origin(std::string_view name) const {
  Origin found;
  std::vector<std::string_view> open{name};
  while (!open.empty()) {
    const auto writers = writers_.find(open.back());
    open.pop_back();
    if (writers == writers_.end()) continue;
    for (const std::size_t writer : writers->second) {
      if (std::ranges::find(found.statements, writer) != found.statements.end()) continue;
      if (found.statements.size() == longest_origin || !may_be_of_origin(instruction(writer))) return std::nullopt;
      found.statements.push_back(writer);
      const auto names = names_read(module_, instruction(writer));
      if (std::ranges::any_of(names,
                              [](auto each) { return each.starts_with("%clock") || each.starts_with("%global"); })) {
        return std::nullopt;
      }
      // A load sees memory of the block by a generic address only; what lies there is not followed.
      std::ranges::copy_if(names, std::back_inserter(open), [](auto each) { return !each.starts_with('['); });
    }
  }
  find_changes(found);
  return found;
}

/// Atomics and calls are SelfDecidingReads' business.
bool PollingBranches::may_be_of_origin(const Instruction& each) const {
  constexpr std::array<std::string_view, 12> others{"atom",     "call",  "shfl", "vote", "match", "redux",
                                                    "ldmatrix", "elect", "bar",  "tex",  "suld",  "barrier"};
  const std::string_view operation = each.operation();
  if (operation == "ld" && (each.opcode.find(".shared") != std::string_view::npos || each.has("local"))) return false;
  return operation != "activemask" && std::ranges::find(others, operation) == others.end();
}

void PollingBranches::find_changes(Origin& origin) const {
  const std::size_t count = origin.statements.size();
  std::vector<std::vector<std::string_view>> writes;
  for (const std::size_t each : origin.statements) writes.push_back(names_written(module_, instruction(each)));
  std::array<std::uint32_t, longest_origin> needs{};  // by statement: those it depends on
  for (std::size_t reader = 0; reader < count; ++reader) {
    const auto reads = names_read(module_, instruction(origin.statements[reader]));
    for (std::size_t writer = 0; writer < count; ++writer) {
      const bool uses = std::ranges::find_first_of(reads, writes[writer]) != reads.end();
      needs[reader] |= std::uint32_t{uses} << writer;
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
  std::vector<std::size_t> barred{flow_.blocks()[block].meets_at};
  std::vector<std::size_t> loads;
  for (std::size_t each = 0; each < origin.statements.size(); ++each) {
    const std::size_t statement = origin.statements[each];
    if (origin.changes[each]) barred.push_back(flow_.block_of(statement));
    if (is_plain_load(instruction(statement)) || sees_other_blocks(instruction(statement))) {
      loads.push_back(flow_.block_of(statement));
    }
  }
  const auto is_in = [](const auto& list, std::size_t each) { return std::ranges::find(list, each) != list.end(); };
  if (loads.empty() || is_in(barred, block)) return false;
  ++walks_;
  std::vector<std::pair<std::size_t, bool>> open{{block, is_in(loads, block)}};
  while (!open.empty()) {
    const auto [here, has_loaded] = open.back();
    open.pop_back();
    for (const std::size_t next : flow_.blocks()[here].successors) {
      if (++steps_ > most_walk_steps) return true;
      if (cycles_.of(next) != cycles_.of(block) || is_in(barred, next)) continue;
      const bool loaded = has_loaded || is_in(loads, next);
      if (next == block && loaded) return true;
      if (std::exchange(visited_[2 * next + (loaded ? 1 : 0)], walks_) != walks_) open.emplace_back(next, loaded);
    }
  }
  return false;
}

}  // namespace gpushare::ptx
