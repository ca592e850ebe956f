// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/transform/flow/divergent_blocks.hpp"
#include "core/transform/flow/loops.hpp"
#include "core/transform/waits/executed_reads.hpp"

namespace gpushare::ptx {

/// Finds atomics and loads that decide by their result whether they are executed again, as in `while (atomicAdd(&flag,
/// 0) == 0)`. The result is followed through registers, memory of the block, calls, and control dependence.
class SpinLoopDetector {
 public:
  /// `reads`: those of the function and its callees.
  SpinLoopDetector(const Module& module, const Loops& loops, const ExecutedReads& reads);

  /// Does the cycle have such a read?
  bool any(std::size_t cycle);

 private:
  /// The origin of all of a register's values: copies of one other register, or loads from one place. Nothing where
  /// there are several.
  struct Origin {
    std::optional<std::string_view> copied{};
    std::optional<std::string_view> address{};
  };

  void note(std::size_t index, const Instruction& instruction);
  void find_sources(std::size_t cycle);
  void exempt_retry(std::size_t index, const Instruction& exchange);
  bool retries_with_found_value(const Instruction& exchange);
  Origin origin_of(std::string_view name) const;
  void affect(std::size_t index);
  bool spread(std::size_t index);
  bool spread_choice(std::size_t block);
  const Instruction& instruction(std::size_t index) const { return loops_.instruction(index); }

  const Module& module_;
  const Loops& loops_;
  const ExecutedReads& reads_;
  DivergentBlocks blocks_;
  // Statements of the present cycle, by name:
  std::unordered_map<std::string_view, std::vector<std::size_t>> readers_;
  std::unordered_map<std::string_view, std::vector<std::size_t>> writers_;
  std::unordered_map<std::string_view, Origin> origins_;
  std::unordered_set<std::string_view> affected_names_;
  std::vector<std::size_t> open_;  ///< affected statements that have yet to affect others
  // By statement, each of which is in one cycle at most:
  std::vector<bool> is_source_;
  std::vector<bool> is_exempt_;
  std::vector<bool> is_affected_;
};

}  // namespace gpushare::ptx
