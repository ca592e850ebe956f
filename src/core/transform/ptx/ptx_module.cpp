// SPDX-License-Identifier: Apache-2.0
#include "core/transform/ptx/ptx_module.hpp"

#include <algorithm>
#include <utility>

#include "core/model/errors.hpp"
#include "core/transform/ptx/instructions.hpp"
#include "core/transform/ptx/ptx_body.hpp"
#include "core/transform/ptx/ptx_cursor.hpp"
#include "core/transform/ptx/text_edits.hpp"

namespace gpushare::ptx {
namespace {

bool is_linkage(const Token& token) {
  return token.is(".visible") || token.is(".extern") || token.is(".weak") || token.is(".common");
}

/// .param .align 8 .b8 name[16]   or   .param .u64 .ptr .global .align 4 name   or, of old functions, .reg .u32 name
Parameter parse_parameter(Cursor& cursor) {
  Parameter parameter;
  const std::string_view space = cursor.peek().text;
  const bool is_joined = space.starts_with(".param.") || space.starts_with(".reg.");  // .param.u64 name
  if (is_joined) {
    parameter.type = cursor.take().text;
    parameter.type.remove_prefix(parameter.type.rfind('.'));
  } else if (!cursor.accept(".reg")) {
    cursor.expect(".param");
  }
  while (cursor.peek().text.starts_with('.')) {
    const Token directive = cursor.take();
    if (directive.is(".ptr")) parameter.is_marked_pointer = true;
    if (directive.is(".align")) {
      const std::size_t alignment = cursor.take_count();
      if (!parameter.is_marked_pointer) parameter.alignment = alignment;  // else of what it points to
    } else if (parameter.type.empty()) {
      parameter.type = directive.text;
    }
  }
  parameter.name = cursor.take_word().text;
  parameter.bytes = bytes_of_type(parameter.type);
  while (cursor.accept("[")) {
    if (!cursor.peek().is("]")) parameter.bytes *= cursor.take_count();
    if (parameter.bytes > Cursor::largest_count) cursor.fail("'" + std::string(parameter.name) + "' is too large");
    cursor.expect("]");
  }
  if (parameter.alignment == 0) parameter.alignment = bytes_of_type(parameter.type);
  return parameter;
}

std::vector<Parameter> parse_parameters(Cursor& cursor) {
  std::vector<Parameter> parameters;
  cursor.expect("(");
  if (cursor.accept(")")) return parameters;
  do parameters.push_back(parse_parameter(cursor));
  while (cursor.accept(","));
  cursor.expect(")");
  return parameters;
}

/// Directives between parameters and body: .maxntid 256, 1, 1 and the like. Only .pragma ends with a semicolon.
std::vector<TokenRange> parse_directives(Cursor& cursor) {
  std::vector<TokenRange> directives;
  const auto at_next = [&] {
    return cursor.peek().is("{") || cursor.peek().is(";") || cursor.peek().text.starts_with('.');
  };
  while (!cursor.peek().is("{") && !cursor.peek().is(";")) {
    if (!at_next()) cursor.fail("expected a directive or a body, found '" + std::string(cursor.peek().text) + "'");
    const std::size_t begin = cursor.position();
    if (cursor.take().is(".pragma")) {
      cursor.skip_to_semicolon();
    } else {
      while (!at_next()) cursor.take();
    }
    directives.push_back({begin, cursor.position()});
  }
  return directives;
}

/// Behind an optional .visible or the like.
bool begins_function(const Cursor& cursor) {
  const Token first = is_linkage(cursor.peek()) ? cursor.peek(1) : cursor.peek();
  return first.is(".entry") || first.is(".func");
}

void parse_function(Cursor& cursor, Function& function) {
  if (is_linkage(cursor.peek())) cursor.take();
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
  function.has_body = !cursor.accept(";");
  if (function.has_body) {
    function.body.begin = cursor.position();
    function.statements = parse_body(cursor);
    function.body.end = cursor.position();
  }
}

/// From the beginning of a function to the end of its body, or of its declaration, by braces alone.
void skip_function(Cursor& cursor, Function& function) {
  int depth = 0;
  bool is_pragma = false;
  function.has_body = false;
  while (!cursor.at_end()) {
    if (cursor.peek().is("{") && depth == 0) {
      function.has_body = true;
      function.body.begin = cursor.position();
    }
    const Token token = cursor.take();
    if (token.is("{")) ++depth;
    if (token.is("}") && --depth <= 0) break;
    if (token.is(";") && depth == 0 && !is_pragma) break;
    is_pragma = token.is(".pragma") || (is_pragma && !token.is(";"));
  }
  function.body.end = cursor.position();
}

Function parse_function(Cursor& cursor) {
  Function function;
  const std::size_t begin = cursor.position();
  try {
    parse_function(cursor, function);
  } catch (const InvalidInput& error) {
    function.not_understood = error.what();
    function.statements.clear();
    cursor.go_to(begin);
    skip_function(cursor, function);
  }
  function.tokens = {begin, cursor.position()};
  return function;
}

bool is_header(const Token& token) { return token.is(".version") || token.is(".target") || token.is(".address_size"); }

/// .version 9.0   .target sm_90, debug   .address_size 64
void skip_header(Cursor& cursor) {
  cursor.take();
  do {
    if (!cursor.at_end() && !cursor.peek().text.starts_with('.')) cursor.take();
  } while (cursor.accept(","));
}

/// .file 1 "a.cu", 1700000000, 1234
void skip_file(Cursor& cursor) {
  cursor.skip_numbers(1);
  do {
    if (!cursor.at_end()) cursor.take();
  } while (cursor.accept(","));
}

/// Variables, .section, .pragma and the like: up to the semicolon, or the closing brace. Anything else is skipped up to
/// the beginning of a function.
void skip_directive(Cursor& cursor) {
  const Token directive = cursor.take();
  if (directive.is(".file")) return skip_file(cursor);
  const bool is_section = directive.is(".section");
  for (int depth = 0; !cursor.at_end();) {
    if (depth <= 0 && begins_function(cursor)) return;
    const Token token = cursor.take();
    if (token.is("{")) ++depth;
    if (token.is("}") && --depth == 0 && is_section) return;
    if (token.is(";") && depth <= 0) return;
  }
}

/// .alias f, g;   f is another name of g.
std::pair<std::string_view, std::string_view> parse_alias(Cursor& cursor) {
  const std::pair names(cursor.peek(1).text, cursor.peek(3).text);
  skip_directive(cursor);
  return names;
}

/// The token behind a header directive: .version 9.0, .target sm_90.
std::string_view header(const std::vector<Token>& tokens, std::string_view directive) {
  const auto found = std::ranges::find(tokens, directive, &Token::text);
  if (found == tokens.end() || found + 1 == tokens.end()) {
    throw InvalidInput("this is not PTX: it has no " + std::string(directive) + " directive");
  }
  return (found + 1)->text;
}

/// A suffix that is a separate word is a part of the word before it.
TextEdits joined_suffixes(const Module& module) {
  TextEdits edits;
  const auto is_suffix = [&](std::size_t token) {
    return module.token(token).text.starts_with('.') && module.token(token - 1).kind == TokenKind::Word;
  };
  for (const Function& function : module.functions) {
    for_each_instruction(function, [&](const Instruction& instruction) {
      for (std::size_t token = instruction.tokens.begin + 1; token < instruction.tokens.end; ++token) {
        if (!is_suffix(token)) continue;
        const std::size_t begin = module.token(token - 1).end();
        std::string suffixes;
        std::string between;
        for (; is_suffix(token); ++token) {
          const std::size_t end = module.token(token - 1).end();
          between += module.text.substr(end, module.token(token).offset - end);
          suffixes += module.token(token).text;
        }
        edits.replace(begin, suffixes.size() + between.size(), suffixes + between);
      }
    });
  }
  return edits;
}

template <typename Is>
bool any_suffix(std::string_view opcode, Is is) {
  for (std::size_t dot = opcode.find('.'); dot != std::string_view::npos; dot = opcode.find('.', dot + 1)) {
    const std::string_view rest = opcode.substr(dot + 1);
    if (is(rest.substr(0, rest.find('.')))) return true;
  }
  return false;
}

}  // namespace

std::size_t bytes_of_type(std::string_view type) {
  if (type == ".pred") return 1;
  if (type == ".b128") return 16;
  if (type.ends_with("64")) return 8;
  if (type.ends_with("32") || type == ".f16x2") return 4;
  if (type.ends_with("16")) return 2;
  return 1;
}

bool Instruction::has(std::string_view suffix) const {
  return any_suffix(opcode, [&](std::string_view each) { return each == suffix; });
}

bool Instruction::names_space(std::string_view space) const {
  return any_suffix(opcode, [&](std::string_view each) { return each.substr(0, each.find("::")) == space; });
}

Module::Module(std::string ptx) : text(std::move(ptx)) {
  read();
  TextEdits joined = joined_suffixes(*this);
  if (joined.empty()) return;
  text = joined.apply(text);
  read();
}

void Module::read() {
  tokens = tokenize(text);
  functions.clear();
  line_ends_.clear();
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', end + 1)) {
    line_ends_.push_back(end);
  }
  version = header(tokens, ".version");
  target = header(tokens, ".target");
  if (!tokens.front().is(".version")) throw InvalidInput("this is not PTX: it does not begin with .version");
  std::vector<std::pair<std::string_view, std::string_view>> aliases;
  Cursor cursor(text, tokens);
  while (!cursor.at_end()) {
    if (is_header(cursor.peek())) {
      skip_header(cursor);
      if (functions.empty()) header_end = cursor.position();
    } else if (begins_function(cursor)) {
      functions.push_back(parse_function(cursor));
    } else if (cursor.peek().is(".alias")) {
      aliases.push_back(parse_alias(cursor));
    } else {
      skip_directive(cursor);
    }
  }
  index_functions(aliases);
}

void Module::index_functions(const std::vector<std::pair<std::string_view, std::string_view>>& aliases) {
  definitions_.clear();
  has_functions_ = false;
  for (std::size_t index = 0; index < functions.size(); ++index) {
    const Function& function = functions[index];
    has_functions_ |= function.has_body && !function.is_entry;
    if (function.has_body && !function.name.empty()) definitions_.emplace(function.name, index);
  }
  for (const auto& [alias, name] : aliases) {
    if (const auto found = definitions_.find(name); found != definitions_.end())
      definitions_.emplace(alias, found->second);
  }
}

const Function* Module::definition(std::string_view name) const {
  const auto found = definitions_.find(name);
  return found == definitions_.end() ? nullptr : &functions[found->second];
}

std::size_t Module::line(std::size_t index) const {
  const auto before = std::ranges::lower_bound(line_ends_, tokens[index].offset);
  return 1 + static_cast<std::size_t>(before - line_ends_.begin());
}

std::string_view Module::source(TokenRange range) const {
  if (range.size() == 0) return {};
  const std::size_t begin = tokens[range.begin].offset;
  return std::string_view(text).substr(begin, tokens[range.end - 1].end() - begin);
}

std::vector<std::string> Module::entry_names() const {
  std::vector<std::string> names;
  for (const Function& function : functions) {
    if (function.is_entry && function.has_body && !function.name.empty()) names.emplace_back(function.name);
  }
  return names;
}

const Function& Module::entry(std::string_view name) const {
  if (const Function* found = definition(name); found != nullptr && found->is_entry) return *found;
  std::string known;
  for (const std::string& each : entry_names()) known += (known.empty() ? "" : ", ") + each;
  throw InvalidInput("no kernel '" + std::string(name) +
                     "' in this module; it has: " + (known.empty() ? "none" : known));
}

}  // namespace gpushare::ptx
