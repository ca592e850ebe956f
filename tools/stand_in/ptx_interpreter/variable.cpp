// SPDX-License-Identifier: Apache-2.0
#include "ptx_interpreter/variable.hpp"

#include <cstring>

#include "core/transform/ptx/ptx_cursor.hpp"
#include "ptx_interpreter/literal.hpp"

namespace gpushare::interpreter {
namespace {

using ptx::Token;

std::optional<Space> space_named(std::string_view directive) {
  if (directive == ".global") return Space::Global;
  if (directive == ".const") return Space::Constant;
  if (directive == ".shared") return Space::Shared;
  if (directive == ".local") return Space::Local;
  if (directive == ".param") return Space::Parameter;
  return std::nullopt;
}

/// What the declaration says before the names.
struct Common {
  Space space{};
  bool is_extern = false;
  std::size_t alignment = 0;
  std::size_t vector = 1;
  Scalar type = Scalar::B8;
};

class Parser {
 public:
  Parser(const ptx::Module& module, ptx::TokenRange range)
      : tokens_(module.tokens.begin() + static_cast<std::ptrdiff_t>(range.begin),
                module.tokens.begin() + static_cast<std::ptrdiff_t>(range.end)),
        cursor_(module.text, tokens_) {}

  std::vector<Variable> parse() {
    const Common common = parse_common();
    std::vector<Variable> variables;
    do {
      variables.push_back(parse_one(common));
    } while (cursor_.accept(","));
    return variables;
  }

 private:
  Common parse_common() {
    Common common;
    while (cursor_.peek().text.starts_with('.')) {
      const Token token = cursor_.take();
      const std::string_view last = token.text.substr(token.text.rfind('.'));  // of ".shared.b32", if written so
      if (const auto space = space_named(token.text.substr(0, token.text.find('.', 1)))) common.space = *space;
      if (const auto type = scalar_named(last.substr(1))) common.type = *type;
      if (token.is(".extern")) common.is_extern = true;
      if (token.is(".align")) common.alignment = cursor_.take_count();
      if (token.is(".v2")) common.vector = 2;
      if (token.is(".v4")) common.vector = 4;
      if (token.is(".attribute")) skip_parentheses();
    }
    return common;
  }

  void skip_parentheses() {
    while (!cursor_.take().is(")")) {
    }
  }

  Variable parse_one(const Common& common) {
    const std::size_t element = bytes_of(common.type) * common.vector;
    Variable variable{.space = common.space, .is_extern = common.is_extern};
    variable.name = cursor_.take_word().text;
    variable.alignment = common.alignment != 0 ? common.alignment : element;
    variable.bytes = element;
    while (cursor_.accept("[")) {
      variable.bytes *= cursor_.peek().is("]") ? 0 : cursor_.take_count();
      cursor_.expect("]");
    }
    if (variable.space == Space::Global || variable.space == Space::Constant) variable.initial.resize(variable.bytes);
    if (cursor_.accept("=")) parse_initialiser(variable, common.type);
    return variable;
  }

  /// Nested braces only structure the values, which nvcc writes in full rows.
  void parse_initialiser(Variable& variable, Scalar type) {
    std::size_t offset = 0;
    int depth = 0;
    do {
      if (cursor_.accept("{")) {
        ++depth;
      } else if (cursor_.accept("}")) {
        --depth;
      } else if (!cursor_.accept(",")) {
        parse_value(variable, offset, type);
        offset += bytes_of(type);
      }
    } while (depth > 0);
  }

  void parse_value(Variable& variable, std::size_t offset, Scalar type) {
    const std::size_t element = bytes_of(type);
    if (offset + element > variable.bytes) cursor_.fail("more initial values than elements");
    if (cursor_.peek().kind == ptx::TokenKind::Word) return parse_address(variable, offset, element);
    const bool negative = cursor_.accept("-");
    const auto bits = literal_bits(cursor_.peek().text, negative, type);
    if (!bits) cursor_.fail("'" + std::string(cursor_.peek().text) + "' is no initial value");
    cursor_.take();
    std::memcpy(variable.initial.data() + offset, &*bits, std::min<std::size_t>(element, 8));
  }

  /// name, name+4, generic(name)+4
  void parse_address(Variable& variable, std::size_t offset, std::size_t element) {
    AddressValue value{.offset = offset, .bytes = element};
    const Token first = cursor_.take();
    if (cursor_.accept("(")) {
      if (!first.is("generic")) cursor_.fail("'" + std::string(first.text) + "' in an initial value");
      value.name = cursor_.take_word().text;
      cursor_.expect(")");
    } else {
      value.name = first.text;
    }
    const bool minus = cursor_.peek().is("-");
    if (cursor_.accept("+") || cursor_.accept("-")) {
      const auto plus = static_cast<std::int64_t>(cursor_.take_count());
      value.plus = minus ? -plus : plus;
    }
    variable.addresses.push_back(value);
  }

  std::vector<Token> tokens_;
  ptx::Cursor cursor_;
};

bool declares_variable(const ptx::Module& module, std::size_t first) {
  for (std::size_t i = first; i < module.tokens.size() && module.token(i).text.starts_with('.'); ++i) {
    const Token& token = module.token(i);
    if (token.is(".entry") || token.is(".func")) return false;
    const auto space = space_named(token.text);
    if (space && *space != Space::Parameter) return true;
  }
  return false;
}

/// Where the function that begins around this token ends; the token itself outside of functions.
std::size_t end_of_function(const ptx::Module& module, std::size_t token) {
  for (const ptx::Function& each : module.functions) {
    if (each.has_body && token >= each.body.begin && token < each.body.end) return each.body.end;
    if (token >= each.parameter_list.begin && token < each.parameter_list.end) return each.parameter_list.end;
  }
  return token;
}

}  // namespace

std::vector<Variable> parse_variables(const ptx::Module& module, ptx::TokenRange tokens) {
  return Parser(module, tokens).parse();
}

std::vector<Variable> module_variables(const ptx::Module& module) {
  std::vector<Variable> variables;
  for (std::size_t i = 0; i < module.tokens.size();) {
    if (const std::size_t end = end_of_function(module, i); end != i) {
      i = end;
    } else if (declares_variable(module, i)) {
      std::size_t semicolon = i;
      while (semicolon < module.tokens.size() && !module.token(semicolon).is(";")) ++semicolon;
      for (Variable& each : parse_variables(module, {i, semicolon})) variables.push_back(std::move(each));
      i = semicolon + 1;
    } else {
      ++i;
    }
  }
  return variables;
}

}  // namespace gpushare::interpreter
