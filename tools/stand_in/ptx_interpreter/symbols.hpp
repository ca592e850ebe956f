// SPDX-License-Identifier: Apache-2.0
// The names of a function: registers, variables, parameters and labels, by the { } in which they are declared.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ptx_interpreter/operation.hpp"

namespace gpushare::interpreter {

struct Symbol {
  enum class Kind : std::uint8_t { Register, Variable, Shared, DynamicShared, Local, EntryParameter, Function };
  Kind kind{};
  Slot slot = no_slot;      ///< of a register
  std::size_t bytes = 0;    ///< of a register or variable
  std::uint64_t place = 0;  ///< index of a variable or function; offset in the shared window, frame or parameters
};

class Symbols {
 public:
  Symbols() : scopes_(1) {}

  void open() {
    scopes_.push_back({.parent = current_});
    current_ = scopes_.size() - 1;
  }
  void close() { current_ = scopes_[current_].parent; }
  std::size_t current() const { return current_; }

  void define(std::string name, const Symbol& symbol) { scopes_[current_].symbols[std::move(name)] = symbol; }
  void define_label(std::string_view name, std::uint32_t operation) {
    scopes_[current_].labels[std::string(name)] = operation;
  }
  void define_table(std::string_view name, std::vector<std::string> labels) {
    scopes_[current_].tables[std::string(name)] = std::move(labels);
  }

  /// Null where the name is unknown.
  const Symbol* find(std::string_view name) const { return look_up(&Scope::symbols, name, current_); }
  const std::uint32_t* find_label(std::string_view name, std::size_t scope) const {
    return look_up(&Scope::labels, name, scope);
  }
  const std::vector<std::string>* find_table(std::string_view name, std::size_t scope) const {
    return look_up(&Scope::tables, name, scope);
  }

 private:
  template <class T>
  using Names = std::map<std::string, T, std::less<>>;
  struct Scope {
    std::size_t parent = 0;
    Names<Symbol> symbols;
    Names<std::uint32_t> labels;
    Names<std::vector<std::string>> tables;
  };

  template <class T>
  const T* look_up(Names<T> Scope::* names, std::string_view name, std::size_t scope) const {
    while (true) {
      const auto found = (scopes_[scope].*names).find(name);
      if (found != (scopes_[scope].*names).end()) return &found->second;
      if (scope == 0) return nullptr;
      scope = scopes_[scope].parent;
    }
  }

  std::vector<Scope> scopes_;
  std::size_t current_ = 0;
};

}  // namespace gpushare::interpreter
