// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include "core/model/errors.hpp"
#include "core/transform/ptx/ptx_tokens.hpp"

namespace gpushare::ptx {

/// Walks over tokens and complains by line. Never moves past the end.
class Cursor {
 public:
  /// A limit for a parameter's bytes: far more than PTX allows.
  static constexpr std::size_t largest_count = std::size_t{1} << 32;

  Cursor(std::string_view text, const std::vector<Token>& tokens) : text_(text), tokens_(tokens) {}

  bool at_end() const { return position_ >= tokens_.size(); }
  std::size_t position() const { return position_; }
  void go_to(std::size_t position) { position_ = position; }

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

  /// 16, 0x10, 020 and 0b10000 are the same, and each may end with U.
  std::size_t take_count() {
    const Token token = peek();
    std::string_view digits = token.text;
    if (digits.ends_with('U')) digits.remove_suffix(1);
    int base = 10;
    if (digits.starts_with("0x") || digits.starts_with("0X")) base = 16;
    if (digits.starts_with("0b") || digits.starts_with("0B")) base = 2;
    if (base != 10) digits.remove_prefix(2);
    if (base == 10 && digits.starts_with('0')) base = 8;
    std::size_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
    const bool complete = error == std::errc() && end == digits.data() + digits.size();
    if (!complete || value > largest_count) fail("'" + std::string(token.text) + "' is no size");
    take();
    return value;
  }

  void skip_numbers(int most) {
    for (; most > 0 && peek().kind == TokenKind::Number; --most) take();
  }

  void skip_to_semicolon() {
    while (!take().is(";")) {
    }
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
