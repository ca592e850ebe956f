// SPDX-License-Identifier: Apache-2.0
// PTX as tokens that know their place in the text. Nothing is lost: a transformation edits the text between tokens, so
// comments, layout and everything not understood stay as they were.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace gpushare::ptx {

enum class TokenKind : std::uint8_t {
  Word,         ///< identifiers, registers (%r1), directives (.reg), opcodes with their suffixes (ld.global.f32)
  Number,       ///< integers and floats in all notations of PTX
  String,       ///< "..."
  Punctuation,  ///< any other character: , ; : { } ( ) [ ] < > + - = @ ! |
};

struct Token {
  TokenKind kind{};
  std::string_view text{};
  std::size_t offset = 0;

  bool is(std::string_view expected) const { return text == expected; }
  std::size_t end() const { return offset + text.size(); }
};

/// The tokens of a PTX text, without comments and white space. The text must outlive them. Every text has tokens: the
/// assembler checks whether it is PTX.
std::vector<Token> tokenize(std::string_view text);

/// The line, counted from 1, on which this offset lies.
std::size_t line_of(std::string_view text, std::size_t offset);

}  // namespace gpushare::ptx
