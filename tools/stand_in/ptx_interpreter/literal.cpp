// SPDX-License-Identifier: Apache-2.0
#include "ptx_interpreter/literal.hpp"

#include <charconv>
#include <cstdlib>
#include <string>

namespace gpushare::interpreter {
namespace {

std::optional<std::uint64_t> digits(std::string_view text, int base) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool has_prefix(std::string_view text, char letter) {
  return text.size() > 2 && text[0] == '0' && (text[1] | 0x20) == letter;
}

std::uint64_t real_bits(double value, Scalar type) {
  switch (type) {
    case Scalar::F32:
      return to_bits(static_cast<float>(value));
    case Scalar::F16:
      return to_bits(Half(value));
    case Scalar::BF16:
      return to_bits(BrainHalf(value));
    default:
      return to_bits(value);
  }
}

/// 0f and 0d say the width themselves; an f64 instruction may still have a 0f operand and the other way round.
std::optional<std::uint64_t> exact_real(std::string_view text, bool negative, Scalar type) {
  const auto bits = digits(text.substr(2), 16);
  if (!bits) return std::nullopt;
  const bool single = has_prefix(text, 'f');
  const double value = single ? from_bits<float>(*bits) : from_bits<double>(*bits);
  const Scalar own = single ? Scalar::F32 : Scalar::F64;
  if (type == own || !is_float(type)) {
    const std::uint64_t sign = std::uint64_t{1} << (single ? 31 : 63);
    return negative ? *bits ^ sign : *bits;
  }
  return real_bits(negative ? -value : value, type);
}

}  // namespace

std::optional<std::uint64_t> integer_literal(std::string_view text) {
  if (text.ends_with('U') || text.ends_with('u')) text.remove_suffix(1);
  if (has_prefix(text, 'x')) return digits(text.substr(2), 16);
  if (has_prefix(text, 'b')) return digits(text.substr(2), 2);
  if (text.size() > 1 && text[0] == '0') return digits(text.substr(1), 8);
  return digits(text, 10);
}

std::optional<std::uint64_t> literal_bits(std::string_view text, bool negative, Scalar type) {
  if (has_prefix(text, 'f') || has_prefix(text, 'd')) return exact_real(text, negative, type);
  if (const auto integer = integer_literal(text)) {
    if (type == Scalar::F32 || type == Scalar::F64) {
      const auto value = static_cast<double>(*integer);
      return real_bits(negative ? -value : value, type);
    }
    return negative ? 0 - *integer : *integer;
  }
  const std::string copy(text);
  char* end = nullptr;
  const double value = std::strtod(copy.c_str(), &end);
  if (end != copy.c_str() + copy.size()) return std::nullopt;
  return real_bits(negative ? -value : value, type);
}

}  // namespace gpushare::interpreter
