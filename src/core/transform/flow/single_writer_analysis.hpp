// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/transform/flow/control_flow.hpp"

namespace gpushare::ptx {

/// Finds the statement that gave a register its value at some place. Compilers use one register for several values.
class SingleWriterAnalysis {
 public:
  SingleWriterAnalysis(const Module& module, const Function& function, const ControlFlow& flow);

  bool is_written(std::string_view name) const { return writers_.contains(name); }
  /// The only statement that may have written the value that `reader` reads; nothing where there may be several, or
  /// where the search reaches its limit.
  std::optional<std::size_t> of(std::string_view name, std::size_t reader) const;

 private:
  using Statements = std::vector<std::size_t>;

  std::optional<std::size_t> last_within(const Statements& writers, std::size_t begin, std::size_t end) const;
  std::optional<std::size_t> only_before(const Statements& writers, std::size_t block) const;
  std::optional<std::size_t> unless_guarded(std::size_t writer) const;

  const Function& function_;
  const ControlFlow& flow_;
  std::vector<Statements> predecessors_;                      ///< by block
  std::unordered_map<std::string_view, Statements> writers_;  ///< by name, in order
  std::unordered_set<std::string_view> in_parts_;             ///< vectors, a component of which is written alone
};

}  // namespace gpushare::ptx
