// SPDX-License-Identifier: Apache-2.0
#include "core/transform/ptx/ptx_tokens.hpp"

#include <algorithm>

namespace gpushare::ptx {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'; }
bool starts_word(char c) { return is_letter(c) || c == '_' || c == '$' || c == '%' || c == '.'; }
/// Dots belong to words: an opcode with its suffixes, or a register's component, is one token. So does "::", which
/// newer suffixes contain (.shared::cta); a single colon ends a label.
bool continues_word(char c) { return starts_word(c) || is_digit(c); }

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::vector<Token> scan() {
    std::vector<Token> tokens;
    tokens.reserve(text_.size() / 6);
    while (skip_space_and_comments()) {
      const std::size_t begin = position_;
      const TokenKind kind = step();
      tokens.push_back({kind, text_.substr(begin, position_ - begin), begin});
    }
    return tokens;
  }

 private:
  char at(std::size_t position) const { return position < text_.size() ? text_[position] : '\0'; }

  /// False at the end of the text.
  bool skip_space_and_comments() {
    while (position_ < text_.size()) {
      if (is_space(text_[position_])) {
        ++position_;
      } else if (at(position_) == '/' && at(position_ + 1) == '/') {
        position_ = std::min(text_.find('\n', position_), text_.size());
      } else if (at(position_) == '/' && at(position_ + 1) == '*') {
        const std::size_t end = text_.find("*/", position_ + 2);
        position_ = end == std::string_view::npos ? text_.size() : end + 2;
      } else {
        return true;
      }
    }
    return false;
  }

  TokenKind step() {
    const char first = text_[position_];
    if (first == '"') return string();
    if (is_digit(first)) return number();
    if (starts_word(first)) return word();
    // PTX is ASCII. What is not stays a whole character of UTF-8, so that messages can quote it.
    do ++position_;
    while ((static_cast<unsigned char>(at(position_)) & 0xc0) == 0x80);
    return TokenKind::Punctuation;
  }

  TokenKind string() {
    const std::size_t end = text_.find('"', position_ + 1);
    position_ = end == std::string_view::npos ? text_.size() : end + 1;
    return TokenKind::String;
  }

  TokenKind word() {
    while (continues_word(at(position_)) || is_scope()) position_ += is_scope() ? 2 : 1;
    return TokenKind::Word;
  }

  bool is_scope() const { return at(position_) == ':' && at(position_ + 1) == ':'; }

  /// 12, 0x1F, 0b01, 017, 3U, 1.5e-3, 0f3F800000, 0d...
  TokenKind number() {
    const std::size_t begin = position_;
    const bool prefixed = at(begin) == '0' && is_letter(at(begin + 1));
    while (is_letter(at(position_)) || is_digit(at(position_)) || at(position_) == '.' ||
           (!prefixed && is_exponent_sign())) {
      ++position_;
    }
    return TokenKind::Number;
  }

  bool is_exponent_sign() const {
    const char before = at(position_ - 1);
    return (at(position_) == '+' || at(position_) == '-') && (before == 'e' || before == 'E');
  }

  std::string_view text_;
  std::size_t position_ = 0;
};

}  // namespace

std::vector<Token> tokenize(std::string_view text) { return Scanner(text).scan(); }

std::size_t line_of(std::string_view text, std::size_t offset) {
  return 1 + static_cast<std::size_t>(std::ranges::count(text.substr(0, offset), '\n'));
}

}  // namespace gpushare::ptx
