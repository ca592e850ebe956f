// SPDX-License-Identifier: Apache-2.0
// Resolves labels. Braces are scopes: inline assembly in loops repeats the same labels, each time in new braces.
#pragma once

#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/transform/ptx/ptx_module.hpp"

namespace gpushare::ptx {

class LabelScopes {
 public:
  explicit LabelScopes(const Function& function);

  /// The statement that a label of this name stands for in this statement: a Label, or a Declaration that has one.
  /// Among several, the one in the innermost braces around the statement.
  std::optional<std::size_t> find(std::string_view name, std::size_t used_in) const;

 private:
  std::vector<std::size_t> scope_of_;  ///< by statement
  std::vector<std::size_t> parent_;    ///< by scope; the parent of the outermost is itself
  std::map<std::pair<std::size_t, std::string_view>, std::size_t> labels_;
};

}  // namespace gpushare::ptx
