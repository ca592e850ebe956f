// SPDX-License-Identifier: Apache-2.0
#include "core/transform/ptx/label_scopes.hpp"

namespace gpushare::ptx {
namespace {

std::string_view label_of(const Statement& statement) {
  if (const auto* label = std::get_if<Label>(&statement)) return label->name;
  const auto* declaration = std::get_if<Declaration>(&statement);
  return declaration == nullptr ? std::string_view() : declaration->label;
}

}  // namespace

LabelScopes::LabelScopes(const Function& function) : parent_{0} {
  std::size_t scope = 0;
  for (std::size_t index = 0; index < function.statements.size(); ++index) {
    const Statement& statement = function.statements[index];
    if (const auto* block = std::get_if<Block>(&statement)) {
      if (block->brace == Brace::Open) parent_.push_back(scope);
      scope = block->brace == Brace::Open ? parent_.size() - 1 : parent_[scope];
    }
    scope_of_.push_back(scope);
    if (const std::string_view name = label_of(statement); !name.empty()) labels_[{scope, name}] = index;
  }
}

std::optional<std::size_t> LabelScopes::find(std::string_view name, std::size_t used_in) const {
  for (std::size_t scope = scope_of_[used_in];; scope = parent_[scope]) {
    if (const auto found = labels_.find({scope, name}); found != labels_.end()) return found->second;
    if (parent_[scope] == scope) return std::nullopt;
  }
}

}  // namespace gpushare::ptx
