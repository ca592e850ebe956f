// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>

#include <cctype>
#include <sstream>
#include <string>
#include <string_view>

namespace gpushare::test {

/// The message of the exception that the call throws, or "" if it throws none of this type.
template <typename Exception, typename Call>
std::string message_of(Call call) {
  try {
    call();
  } catch (const Exception& error) {
    return error.what();
  }
  return "";
}

inline bool is_of_a_word(char character) { return std::isalnum(static_cast<unsigned char>(character)) != 0; }

/// Whether the text has the value, and not as a part of a longer word or number.
inline bool has_value(std::string_view text, std::string_view value) {
  for (std::size_t at = text.find(value); at != std::string_view::npos; at = text.find(value, at + 1)) {
    const std::size_t end = at + value.size();
    const bool is_cut_before = at > 0 && is_of_a_word(value.front()) && is_of_a_word(text[at - 1]);
    const bool is_cut_after = end < text.size() && is_of_a_word(value.back()) && is_of_a_word(text[end]);
    if (!is_cut_before && !is_cut_after) return true;
  }
  return false;
}

MATCHER_P(NamesValue, value, "names " + value) { return has_value(arg, value); }

/// Matches a message that names each of the values: what was wrong, what it belongs to, and the choices.
/// Values are names, options, numbers and pieces of PTX. Sentences are not: their wording is no promise.
template <typename... Values>
auto naming(const Values&... values) {
  const auto text_of = [](const auto& value) {
    std::ostringstream text;
    text << value;
    return text.str();
  };
  return testing::AllOf(NamesValue(text_of(values))...);
}

}  // namespace gpushare::test
