// SPDX-License-Identifier: Apache-2.0
#include "core/transform/ptx/distinct_registers.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "core/transform/ptx/text_edits.hpp"

namespace gpushare::ptx {
namespace {

/// .reg .b32 %r<9>, t;   Where a count follows a name, it is the beginning of as many names.
struct Registers {
  std::size_t token = 0;
  std::string_view name;
  std::optional<std::size_t> count;
};

std::optional<std::size_t> parsed_index(std::string_view digits) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return error == std::errc() && end == digits.data() + digits.size() ? std::optional(value) : std::nullopt;
}

std::vector<Registers> declared(const Module& module, const Declaration& declaration) {
  std::vector<Registers> found;
  if (declaration.directive != ".reg" && !declaration.directive.starts_with(".reg.")) return found;
  for (std::size_t token = declaration.tokens.begin; token < declaration.tokens.end; ++token) {
    const Token& word = module.token(token);
    if (word.kind != TokenKind::Word || word.text.starts_with('.')) continue;
    Registers registers{.token = token, .name = word.text, .count = {}};
    if (module.token(token + 1).is("<")) registers.count = parsed_index(module.token(token + 2).text).value_or(0);
    found.push_back(registers);
  }
  return found;
}

/// Renames the registers that a function declares in its inner scopes under names that it also declares elsewhere.
class Renaming {
 public:
  Renaming(const Module& module, const Function& function, TextEdits& edits)
      : module_(module), function_(function), edits_(edits) {}

  void rename() {
    find_declarations();
    if (std::ranges::none_of(scopes_, [](const Scope& scope) { return !scope.renamed.empty(); })) return;
    for_each_in_scope([&](std::size_t scope, const Statement& statement) {
      if (const auto* declaration = std::get_if<Declaration>(&statement)) {
        for (const Registers& registers : declared(module_, *declaration)) rename(registers.token, scope);
      } else if (const auto* instruction = std::get_if<Instruction>(&statement)) {
        for (std::size_t token = instruction->tokens.begin; token < instruction->tokens.end; ++token) {
          if (module_.token(token).kind == TokenKind::Word) rename(token, scope);
        }
      }
    });
  }

 private:
  struct Scope {
    std::size_t parent = 0;
    std::vector<Registers> declared{};
    std::map<std::string_view, std::string> renamed{};  // names, or beginnings of names
  };

  template <typename Use>
  void for_each_in_scope(Use use) {
    std::size_t scope = 0;
    std::size_t scopes = 0;
    for (const Statement& statement : function_.statements) {
      if (const auto* block = std::get_if<Block>(&statement)) {
        if (block->brace == Brace::Close) {
          scope = scopes_[scope].parent;
          continue;
        }
        if (++scopes == scopes_.size()) scopes_.push_back({.parent = scope});
        scope = scopes;
      } else {
        use(scope, statement);
      }
    }
  }

  void find_declarations() {
    std::multiset<std::string_view> names;
    for_each_in_scope([&](std::size_t scope, const Statement& statement) {
      const auto* declaration = std::get_if<Declaration>(&statement);
      if (declaration == nullptr) return;
      for (const Registers& registers : declared(module_, *declaration)) {
        scopes_[scope].declared.push_back(registers);
        names.insert(registers.name);
      }
    });
    for (std::size_t scope = 2; scope < scopes_.size(); ++scope) {  // the first is around the body
      for (const Registers& registers : scopes_[scope].declared) {
        if (stands_alone(registers.name, names)) continue;
        const std::string ending = "_gpushare" + std::to_string(scope) + (registers.count ? "_" : "");
        scopes_[scope].renamed[registers.name] = std::string(registers.name) + ending;
      }
    }
  }

  /// Is no other name its beginning, or begins with it? Then one may be counted, and the other one of its registers.
  static bool stands_alone(std::string_view name, const std::multiset<std::string_view>& names) {
    if (names.count(name) > 1) return false;
    const auto next = names.upper_bound(name);
    if (next != names.end() && next->starts_with(name)) return false;
    for (std::size_t length = 1; length < name.size(); ++length) {
      if (names.contains(name.substr(0, length))) return false;
    }
    return true;
  }

  /// By the innermost scope that declares it.
  void rename(std::size_t token, std::size_t scope) {
    const std::string_view word = module_.token(token).text;
    const std::string_view name = word.substr(0, word.find('.', 1));
    for (;; scope = scopes_[scope].parent) {
      for (const Registers& registers : scopes_[scope].declared) {
        const bool is_declaration = registers.token == token;
        if (!is_declaration && !is_one_of(name, registers)) continue;
        const auto renamed = scopes_[scope].renamed.find(registers.name);
        if (renamed == scopes_[scope].renamed.end()) return;
        return edits_.replace(module_.token(token).offset, registers.name.size(), renamed->second);
      }
      if (scope == 0) return;
    }
  }

  static bool is_one_of(std::string_view name, const Registers& registers) {
    if (!registers.count) return name == registers.name;
    if (!name.starts_with(registers.name)) return false;
    const auto index = parsed_index(name.substr(registers.name.size()));
    return index && *index < *registers.count;
  }

  const Module& module_;
  const Function& function_;
  TextEdits& edits_;
  std::vector<Scope> scopes_{1};
};

}  // namespace

std::optional<std::string> with_distinct_registers(const Module& module) {
  TextEdits edits;
  for (const Function& function : module.functions) Renaming(module, function, edits).rename();
  return edits.empty() ? std::nullopt : std::optional(edits.apply(module.text));
}

}  // namespace gpushare::ptx
