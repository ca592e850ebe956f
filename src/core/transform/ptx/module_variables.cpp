// SPDX-License-Identifier: Apache-2.0
#include "core/transform/ptx/module_variables.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "core/transform/ptx/ptx_cursor.hpp"
#include "core/transform/ptx/ptx_module.hpp"
#include "core/transform/ptx/written_variables.hpp"

namespace gpushare::ptx {
namespace {

/// Far more than any GPU has.
constexpr std::size_t largest_variable = std::size_t{1} << 48;

struct Declared {
  ModuleVariable variable;
  bool is_initialised = false;
  bool is_known = true;                       // its type has a size, unlike .texref
  std::vector<std::string_view> addresses{};  // names in its initial value
};

std::size_t bytes_of_type(std::string_view type) {
  if (type == ".b128") return 16;
  if (type.ends_with("64")) return 8;
  if (type.ends_with("32") || type.ends_with("16x2")) return 4;
  if (type.ends_with("16")) return 2;
  if (type.ends_with("8")) return 1;
  return 0;
}

std::string_view first_part(std::string_view directive) { return directive.substr(0, directive.find('.', 1)); }

bool names_space(const Token& token) {
  const std::string_view space = first_part(token.text);
  return space == ".global" || space == ".const";
}

/// Reads the text between the state space and the semicolon. There may be several variables: a, b[4].
class DeclarationReader {
 public:
  DeclarationReader(const Module& module, TokenRange range)
      : tokens_(module.tokens.begin() + static_cast<std::ptrdiff_t>(range.begin),
                module.tokens.begin() + static_cast<std::ptrdiff_t>(range.end)),
        cursor_(module.text, tokens_) {}

  std::vector<Declared> read() {
    read_common();
    std::vector<Declared> declared;
    do {
      declared.push_back(read_one());
    } while (cursor_.accept(","));
    return declared;
  }

 private:
  void read_common() {
    while (cursor_.peek().text.starts_with('.')) {
      const Token token = cursor_.take();
      const std::string_view last = token.text.substr(token.text.rfind('.'));  // of ".global.b32", if written so
      if (first_part(token.text) == ".const") common_.is_constant = true;
      if (bytes_of_type(last) > 0) common_.type = last;
      if (token.is(".align")) cursor_.take_count();
      if (token.is(".v2")) vector_ = 2;
      if (token.is(".v4")) vector_ = 4;
      if (token.is(".v8")) vector_ = 8;
      if (token.is(".attribute")) read_attributes();
    }
  }

  void read_attributes() {
    for (Token token = cursor_.take(); !token.is(")"); token = cursor_.take()) {
      if (token.is(".managed")) common_.is_managed = true;
    }
  }

  Declared read_one() {
    Declared one{.variable = common_, .is_known = !common_.type.empty()};
    one.variable.name = cursor_.take_word().text;
    initial_values_ = 0;
    while (cursor_.accept("[")) {
      one.variable.extents.push_back(cursor_.peek().is("]") ? 0 : cursor_.take_count());
      cursor_.expect("]");
    }
    if (vector_ > 1) one.variable.extents.push_back(vector_);
    one.is_initialised = cursor_.accept("=");
    if (one.is_initialised) read_initial_value(one);
    one.variable.bytes = bytes_of_type(common_.type);
    for (std::size_t& extent : one.variable.extents) {
      if (extent == 0) extent = initial_values_;  // int a[] = {1, 2, 3}
      if (extent > 0 && one.variable.bytes > largest_variable / extent) cursor_.fail("a variable is too large");
      one.variable.bytes *= extent;
    }
    return one;
  }

  /// Values do not matter, but the names in it that stand for addresses do.
  void read_initial_value(Declared& one) {
    int depth = 0;
    do {
      const Token token = cursor_.take();
      if (token.is("{")) ++depth;
      if (token.is("}")) --depth;
      if (token.kind == TokenKind::Word) one.addresses.push_back(token.text);
      if (token.kind != TokenKind::Punctuation) ++initial_values_;
    } while (!cursor_.at_end() && (depth > 0 || !cursor_.peek().is(",")));
  }

  std::vector<Token> tokens_;
  Cursor cursor_;
  ModuleVariable common_;
  std::size_t vector_ = 1;
  std::size_t initial_values_ = 0;
};

/// By the token at which each begins: other things are declared in them.
std::unordered_map<std::size_t, std::size_t> ends_of_functions(const Module& module) {
  std::unordered_map<std::size_t, std::size_t> ends;
  for (const Function& each : module.functions) ends[each.tokens.begin] = each.tokens.end;
  return ends;
}

bool is_extern(const Module& module, std::size_t token) {
  while (token > 0 && module.token(token - 1).text.starts_with('.')) {
    if (module.token(--token).is(".extern")) return true;
  }
  return false;
}

/// The assembler checks whether a declaration is correct.
void add_declared(const Module& module, TokenRange declaration, std::vector<Declared>& declared) {
  try {
    std::ranges::move(DeclarationReader(module, declaration).read(), std::back_inserter(declared));
  } catch (const InvalidInput&) {
  }
}

std::vector<Declared> declared_variables(const Module& module) {
  const auto ends = ends_of_functions(module);
  std::vector<Declared> declared;
  for (std::size_t token = 0; token < module.tokens.size(); ++token) {
    if (const auto end = ends.find(token); end != ends.end() && end->second > token) {
      token = end->second - 1;
    } else if (names_space(module.token(token))) {
      std::size_t semicolon = token;
      while (semicolon < module.tokens.size() && !module.token(semicolon).is(";")) ++semicolon;
      if (!is_extern(module, token)) add_declared(module, {token, semicolon}, declared);
      token = semicolon;
    }
  }
  return declared;
}

/// The variables that code may reach: those that it mentions, and those that functions and variables that it mentions
/// mention. So a call through a pointer may arrive at any function with an address taken on the way.
class Mentions {
 public:
  Mentions(const Module& module, const std::vector<Declared>& declared) : module_(module), declared_(declared) {
    for (std::size_t index = 0; index < declared.size(); ++index)
      indices_.emplace(declared[index].variable.name, index);
  }

  /// By index: can these functions reach the variable?
  std::vector<bool> of(std::vector<const Function*> pending) {
    std::vector<bool> mentioned(declared_.size());
    std::unordered_set<const Function*> seen(pending.begin(), pending.end());
    std::vector<std::size_t> values;
    const auto visit = [&](std::string_view word) {
      if (const auto found = indices_.find(word); found != indices_.end() && !mentioned[found->second]) {
        mentioned[found->second] = true;
        values.push_back(found->second);
      }
      const Function* function = module_.definition(word);
      if (function != nullptr && seen.insert(function).second) pending.push_back(function);
    };
    while (!pending.empty() || !values.empty()) {
      if (!values.empty()) {
        const std::size_t index = values.back();
        values.pop_back();
        for (const std::string_view word : declared_[index].addresses) visit(word);
        continue;
      }
      const Function& function = *pending.back();
      pending.pop_back();
      for (std::size_t token = function.body.begin; token < function.body.end; ++token) {
        if (module_.token(token).kind == TokenKind::Word) visit(module_.token(token).text);
      }
    }
    return mentioned;
  }

 private:
  const Module& module_;
  const std::vector<Declared>& declared_;
  std::unordered_map<std::string_view, std::size_t> indices_;
};

/// Code that loads the address of one from another's initial value may write there.
std::unordered_set<std::string_view> may_be_written(const Module& module, const std::vector<Declared>& declared) {
  std::unordered_set<std::string_view> names;
  for (const Declared& each : declared) names.insert(each.variable.name);
  std::unordered_set<std::string_view> written = written_variables(module, names);
  for (const Declared& each : declared) written.insert(each.addresses.begin(), each.addresses.end());
  return written;
}

bool is_the_compilers(const Declared& each) {
  const std::string_view name = each.variable.name;
  return each.is_initialised && (name.starts_with('$') || name.starts_with("__"));
}

}  // namespace

std::vector<ModuleVariable> module_variables(const std::string& ptx, const std::string& entry) {
  const Module module(ptx);
  const Function& kernel = module.entry(entry);
  const std::vector<Declared> declared = declared_variables(module);
  Mentions mentions(module, declared);
  std::vector<const Function*> all;
  for (const Function& each : module.functions) {
    if (each.has_body) all.push_back(&each);
  }
  const std::vector<bool> by_any = mentions.of(std::move(all));
  const std::vector<bool> by_entry = mentions.of({&kernel});
  const std::unordered_set<std::string_view> written = may_be_written(module, declared);
  std::vector<ModuleVariable> variables;
  for (std::size_t index = 0; index < declared.size(); ++index) {
    const Declared& each = declared[index];
    if (!by_any[index] || !each.is_known || each.variable.bytes == 0 || is_the_compilers(each)) continue;
    variables.push_back(each.variable);
    variables.back().is_used = by_entry[index];
    variables.back().is_written = !each.variable.is_constant && written.contains(each.variable.name);
  }
  return variables;
}

}  // namespace gpushare::ptx
