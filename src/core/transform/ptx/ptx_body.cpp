// SPDX-License-Identifier: Apache-2.0
#include "core/transform/ptx/ptx_body.hpp"

namespace gpushare::ptx {
namespace {

/// .loc 1 12 5   or   .loc 1 7 9, function_name $L__info_string0+4, inlined_at 1 12 5
/// It may take several lines, and a statement may follow on its last one.
void skip_location(Cursor& cursor) {
  cursor.skip_numbers(3);
  while (cursor.accept(",")) {
    cursor.take_word();  // function_name or inlined_at
    if (cursor.peek().kind == TokenKind::Word) cursor.take();
    if (cursor.accept("+")) cursor.take();
    cursor.skip_numbers(3);
  }
}

Declaration parse_declaration(Cursor& cursor, std::string_view label, std::size_t begin) {
  Declaration declaration{.directive = cursor.peek().text, .label = label, .tokens = {begin, begin}};
  const Token directive = cursor.take();
  if (directive.is(".loc")) {
    skip_location(cursor);
  } else {
    cursor.skip_to_semicolon();
  }
  declaration.tokens.end = cursor.position();
  return declaration;
}

/// Operands are separated by commas that are not in brackets.
void parse_operands(Cursor& cursor, Instruction& instruction) {
  int depth = 0;
  std::size_t begin = cursor.position();
  while (true) {
    const std::size_t here = cursor.position();
    const Token token = cursor.take();
    if (token.is("(") || token.is("[") || token.is("{")) ++depth;
    if (token.is(")") || token.is("]") || token.is("}")) --depth;
    const bool ends = token.is(";");
    if (ends && depth != 0) cursor.fail("brackets do not match");
    if (!ends && (depth != 0 || !token.is(","))) continue;
    if (here > begin) instruction.operands.push_back({begin, here});
    begin = cursor.position();
    if (ends) return;
  }
}

Instruction parse_instruction(Cursor& cursor) {
  Instruction instruction;
  instruction.tokens.begin = cursor.position();
  if (cursor.accept("@")) {
    instruction.negated = cursor.accept("!");
    instruction.predicate = cursor.take_word().text;
  }
  instruction.opcode = cursor.take_word().text;
  parse_operands(cursor, instruction);
  instruction.tokens.end = cursor.position();
  return instruction;
}

/// Directives that a label introduces: targets: .branchtargets $L1, $L2;
bool is_labelled_directive(const Token& token) {
  return token.is(".branchtargets") || token.is(".calltargets") || token.is(".callprototype");
}

}  // namespace

std::vector<Statement> parse_body(Cursor& cursor) {
  std::vector<Statement> statements;
  int depth = 0;
  do {
    const std::size_t begin = cursor.position();
    const Token token = cursor.peek();
    if (token.is("{") || token.is("}")) {
      cursor.take();
      depth += token.is("{") ? 1 : -1;
      statements.emplace_back(Block{token.is("{") ? Brace::Open : Brace::Close, begin});
    } else if (depth == 0) {
      cursor.fail("expected the body of a function");
    } else if (token.text.starts_with('.')) {
      statements.emplace_back(parse_declaration(cursor, {}, begin));
    } else if (token.kind == TokenKind::Word && cursor.peek(1).is(":")) {
      cursor.take();
      cursor.take();
      if (is_labelled_directive(cursor.peek())) {
        statements.emplace_back(parse_declaration(cursor, token.text, begin));
      } else {
        statements.emplace_back(Label{token.text, {begin, cursor.position()}});
      }
    } else if (cursor.accept(";")) {
      continue;  // an empty statement
    } else {
      statements.emplace_back(parse_instruction(cursor));
    }
  } while (depth > 0);
  return statements;
}

}  // namespace gpushare::ptx
