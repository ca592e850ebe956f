// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <string>
#include <vector>

#include "core/errors.hpp"
#include "core/transform/ptx_tokens.hpp"

namespace gpushare::ptx {

/// Walks over tokens and complains by line. Never moves past the end.
class Cursor {
 public:
  Cursor(std::string_view text, const std::vector<Token>& tokens) : text_(text), tokens_(tokens) {}

  bool at_end() const { return position_ >= tokens_.size(); }
  std::size_t position() const { return position_; }

  /// The token so many places ahead; an empty one beyond the end.
  Token peek(std::size_t ahead = 0) const {
    return position_ + ahead < tokens_.size() ? tokens_[position_ + ahead] : Token{.offset = text_.size()};
  }

  Token take() {
    if (at_end()) fail("the text ends in the middle of a statement");
    return tokens_[position_++];
  }

  bool accept(std::string_view expected) {
    if (!peek().is(expected)) return false;
    ++position_;
    return true;
  }

  void expect(std::string_view expected) {
    if (!accept(expected)) fail("expected '" + std::string(expected) + "', found '" + std::string(peek().text) + "'");
  }

  Token take_word() {
    if (peek().kind != TokenKind::Word) fail("expected a name, found '" + std::string(peek().text) + "'");
    return take();
  }

  std::size_t take_count() {
    const Token token = take();
    std::size_t value = 0;
    const auto [end, error] = std::from_chars(token.text.data(), token.text.data() + token.text.size(), value);
    if (error != std::errc() || value > (std::size_t{1} << 32)) fail("'" + std::string(token.text) + "' is no size");
    return value;
  }

  /// Skips the tokens on the line of this one: some directives end with their line.
  void skip_line(const Token& first) {
    const std::size_t end = std::min(text_.find('\n', first.offset), text_.size());
    while (!at_end() && peek().offset < end) ++position_;
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw InvalidInput("PTX line " + std::to_string(line_of(text_, peek().offset)) + ": " + what);
  }

 private:
  std::string_view text_;
  const std::vector<Token>& tokens_;
  std::size_t position_ = 0;
};

}  // namespace gpushare::ptx
