// SPDX-License-Identifier: Apache-2.0
#include "core/transform/ptx_module.hpp"

#include <algorithm>

#include "core/errors.hpp"
#include "core/transform/ptx_body.hpp"
#include "core/transform/ptx_cursor.hpp"

namespace gpushare::ptx {
namespace {

bool is_linkage(const Token& token) {
  return token.is(".visible") || token.is(".extern") || token.is(".weak") || token.is(".common");
}

std::size_t bytes_of(std::string_view type) {
  if (type == ".pred") return 1;
  if (type == ".b128") return 16;
  if (type.ends_with("64")) return 8;
  if (type.ends_with("32") || type == ".f16x2") return 4;
  if (type.ends_with("16")) return 2;
  return 1;
}

/// .param .align 8 .b8 name[16]   or   .param .u64 .ptr .global .align 4 name
Parameter parse_parameter(Cursor& cursor) {
  Parameter parameter;
  cursor.expect(".param");
  while (cursor.peek().text.starts_with('.')) {
    const Token directive = cursor.take();
    if (directive.is(".align")) {
      parameter.alignment = cursor.take_count();
    } else if (parameter.type.empty()) {
      parameter.type = directive.text;
    }
  }
  parameter.name = cursor.take_word().text;
  parameter.bytes = bytes_of(parameter.type);
  while (cursor.accept("[")) {
    if (!cursor.peek().is("]")) parameter.bytes *= cursor.take_count();
    cursor.expect("]");
  }
  if (parameter.alignment == 0) parameter.alignment = bytes_of(parameter.type);
  return parameter;
}

std::vector<Parameter> parse_parameters(Cursor& cursor) {
  std::vector<Parameter> parameters;
  cursor.expect("(");
  while (!cursor.accept(")")) {
    parameters.push_back(parse_parameter(cursor));
    if (!cursor.peek().is(")")) cursor.expect(",");
  }
  return parameters;
}

/// Directives between parameters and body: .maxntid 256, 1, 1 and the like.
std::vector<TokenRange> parse_directives(Cursor& cursor) {
  std::vector<TokenRange> directives;
  while (!cursor.peek().is("{") && !cursor.peek().is(";")) {
    if (cursor.peek().text.starts_with('.')) directives.push_back({cursor.position(), cursor.position()});
    cursor.take();
    if (!directives.empty()) directives.back().end = cursor.position();
  }
  return directives;
}

Function parse_function(Cursor& cursor) {
  Function function;
  function.is_entry = cursor.take().is(".entry");
  while (cursor.peek().text.starts_with('.')) cursor.take();  // .attribute and the like
  if (cursor.peek().is("(")) parse_parameters(cursor);        // what a .func returns
  function.name_token = cursor.position();
  function.name = cursor.take_word().text;
  if (cursor.peek().is("(")) {
    function.parameter_list.begin = cursor.position();
    function.parameters = parse_parameters(cursor);
    function.parameter_list.end = cursor.position();
  }
  function.directives = parse_directives(cursor);
  if (cursor.accept(";")) return function;
  function.has_body = true;
  function.body.begin = cursor.position();
  function.statements = parse_body(cursor);
  function.body.end = cursor.position();
  return function;
}

/// Variables, .file, .section, .pragma and the like: up to the semicolon, the end of the line, or the closing brace.
void skip_directive(Cursor& cursor) {
  const Token directive = cursor.take();
  const bool ends_with_line = directive.is(".version") || directive.is(".target") || directive.is(".address_size") ||
                              directive.is(".file") || directive.is(".loc");
  if (ends_with_line) return cursor.skip_line(directive);
  const bool is_section = directive.is(".section");
  for (int depth = 0; !cursor.at_end();) {
    const Token token = cursor.take();
    if (token.is("{")) ++depth;
    if (token.is("}") && --depth == 0 && is_section) return;
    if (token.is(";") && depth == 0) return;
  }
}

std::vector<Function> parse_functions(Cursor& cursor) {
  std::vector<Function> functions;
  while (!cursor.at_end()) {
    if (is_linkage(cursor.peek()) && (cursor.peek(1).is(".entry") || cursor.peek(1).is(".func"))) cursor.take();
    if (cursor.peek().is(".entry") || cursor.peek().is(".func")) {
      functions.push_back(parse_function(cursor));
    } else {
      skip_directive(cursor);
    }
  }
  return functions;
}

/// The token behind a header directive: .version 9.0, .target sm_90.
std::string_view header(const std::vector<Token>& tokens, std::string_view directive) {
  const auto found = std::ranges::find(tokens, directive, &Token::text);
  if (found == tokens.end() || found + 1 == tokens.end()) {
    throw InvalidInput("this is not PTX: it has no " + std::string(directive) + " directive");
  }
  return (found + 1)->text;
}

}  // namespace

bool Instruction::has(std::string_view suffix) const {
  for (std::size_t dot = opcode.find('.'); dot != std::string_view::npos; dot = opcode.find('.', dot + 1)) {
    const std::string_view rest = opcode.substr(dot + 1);
    if (rest.substr(0, rest.find('.')) == suffix) return true;
  }
  return false;
}

Module::Module(std::string ptx) : text(std::move(ptx)), tokens(tokenize(text)) {
  version = header(tokens, ".version");
  target = header(tokens, ".target");
  Cursor cursor(text, tokens);
  functions = parse_functions(cursor);
}

std::string_view Module::source(TokenRange range) const {
  if (range.size() == 0) return {};
  const std::size_t begin = tokens[range.begin].offset;
  return std::string_view(text).substr(begin, tokens[range.end - 1].end() - begin);
}

std::vector<std::string> Module::entry_names() const {
  std::vector<std::string> names;
  for (const Function& function : functions) {
    if (function.is_entry && function.has_body) names.emplace_back(function.name);
  }
  return names;
}

const Function& Module::entry(std::string_view name) const {
  for (const Function& function : functions) {
    if (function.is_entry && function.has_body && function.name == name) return function;
  }
  std::string known;
  for (const std::string& each : entry_names()) known += (known.empty() ? "" : ", ") + each;
  throw InvalidInput("no kernel '" + std::string(name) +
                     "' in this module; it has: " + (known.empty() ? "none" : known));
}

}  // namespace gpushare::ptx
