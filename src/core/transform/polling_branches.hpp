// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/transform/executed_reads.hpp"
#include "core/transform/loops.hpp"

namespace gpushare::ptx {

/// Finds branches of loops that go on by nothing but what lies in memory: `do asm("ld.global.u32 ..."); while (!x)`.
/// Whatever kind of load it is, such a loop waits for others. One over `i < *bound` ends by itself.
class PollingBranches {
 public:
  PollingBranches(const Module& module, const Loops& loops, const ExecutedReads& reads);

  /// Is there one among the blocks of this cycle?
  bool any(std::size_t cycle);

 private:
  /// What a value is computed from within a cycle.
  struct Origin {
    std::vector<std::size_t> statements;
    std::vector<bool> changes;  ///< by statement of these: does its result depend on its last one?
  };

  void find_writers(std::size_t cycle);
  std::optional<Origin> origin(std::size_t branch) const;
  bool may_be_of_origin(const Instruction& instruction) const;
  std::span<const std::size_t> writers_for(std::string_view name, std::size_t reader) const;
  void find_changes(Origin& origin) const;
  bool comes_back(std::size_t block, const Origin& origin);
  const Instruction& instruction(std::size_t index) const { return loops_.instruction(index); }

  const Module& module_;
  const Loops& loops_;
  const ExecutedReads& reads_;
  std::vector<std::size_t> call_before_;  ///< by statement: the last one, 0 without any
  std::unordered_map<std::string_view, std::vector<std::size_t>> writers_;  ///< of the present cycle, in order
  std::vector<std::size_t> visited_;  ///< by block and by whether a load has been passed: the last walk that came there
  std::size_t walks_ = 0;
  std::size_t steps_ = 0;
};

}  // namespace gpushare::ptx
