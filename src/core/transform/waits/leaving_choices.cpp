// SPDX-License-Identifier: Apache-2.0
#include "core/transform/waits/leaving_choices.hpp"

#include <algorithm>
#include <unordered_set>

#include "core/transform/waits/divergence.hpp"

namespace gpushare::ptx {
namespace {

/// A limit to the time that a choice takes: most are small.
constexpr std::size_t most_blocks_between = 256;

/// Every thread of the block waits here for every other that has not returned.
bool is_for_all_threads(const Instruction& barrier) {
  const std::size_t operands = barrier.has("red") ? 3 : 1;
  return barrier.predicate.empty() && !barrier.has("arrive") && barrier.operands.size() == operands;
}

}  // namespace

LeavingChoices::LeavingChoices(const Function& function, const ControlFlow& flow)
    : flow_(flow), meets_(flow.exit_block(), Meets::Nothing), leaves_(flow.exit_block() + 1, false) {
  std::vector<std::vector<std::size_t>> predecessors(flow.exit_block() + 1);
  for (std::size_t block = 0; block < flow.exit_block(); ++block) {
    for (const std::size_t next : flow.blocks()[block].successors) predecessors[next].push_back(block);
    for (std::size_t index = flow.blocks()[block].begin; index < flow.blocks()[block].end; ++index) {
      const auto* instruction = std::get_if<Instruction>(&function.statements[index]);
      if (instruction == nullptr || meets_[block] != Meets::Nothing) continue;
      if (is_block_barrier(*instruction)) {
        meets_[block] = is_for_all_threads(*instruction) ? Meets::Barrier : Meets::Others;
      } else if (instruction->operation() == "call") {
        meets_[block] = Meets::Others;
      }
    }
  }
  // A call may end the thread.
  std::vector<std::size_t> open{flow.exit_block()};
  for (std::size_t block = 0; block < flow.exit_block(); ++block) {
    if (meets_[block] == Meets::Others) open.push_back(block);
  }
  for (const std::size_t block : open) leaves_[block] = true;
  while (!open.empty()) {
    const std::size_t block = open.back();
    open.pop_back();
    for (const std::size_t before : predecessors[block]) {
      if (leaves_[before] || meets_[before] == Meets::Barrier) continue;
      leaves_[before] = true;
      open.push_back(before);
    }
  }
}

bool LeavingChoices::may_lose_threads(std::size_t block) const {
  const std::size_t meeting = flow_.blocks()[block].meets_at;
  if (meeting == ControlFlow::never || leaves_[meeting]) return true;
  std::vector<std::size_t> open = flow_.blocks()[block].successors;
  std::unordered_set<std::size_t> seen(open.begin(), open.end());
  while (!open.empty()) {
    const std::size_t next = open.back();
    open.pop_back();
    if (next == meeting) continue;
    if (meets_[next] != Meets::Nothing || seen.size() > most_blocks_between) return true;
    for (const std::size_t successor : flow_.blocks()[next].successors) {
      if (seen.insert(successor).second) open.push_back(successor);
    }
  }
  return false;
}

}  // namespace gpushare::ptx
