// SPDX-License-Identifier: Apache-2.0
// Bit fields: bfe, bfi, bmsk, szext, fns.
#include <algorithm>
#include <array>
#include <cstdlib>

#include "ptx_interpreter/arithmetic.hpp"
#include "ptx_interpreter/rules/rules.hpp"

namespace gpushare::interpreter {
namespace {

/// bfe d, a, position, length: the field, with its sign for signed types.
template <class T>
void extract_field(Thread& thread, const Operation& operation) {
  const T value = thread.read<T>(operation.slot[1]);
  const std::uint32_t position = thread.read<std::uint8_t>(operation.slot[2]);
  const std::uint32_t length = thread.read<std::uint8_t>(operation.slot[3]);
  const auto bits = static_cast<std::make_unsigned_t<T>>(value);
  const std::uint32_t last = width<T> - 1;
  bool sign = false;
  if (std::is_signed_v<T> && length != 0) sign = (bits >> std::min(position + length - 1, last) & 1) != 0;
  T result = sign ? static_cast<T>(-1) : T{0};
  for (std::uint32_t i = 0; i < length && position + i <= last && i <= last; ++i) {
    const T bit = static_cast<T>(T{1} << i);
    result = static_cast<T>((bits >> (position + i) & 1) != 0 ? result | bit : result & ~bit);
  }
  thread.write<T>(operation.slot[0], result);
}

/// bfi d, a, b, position, length: b with the field replaced by the low bits of a.
template <class T>
void insert_field(Thread& thread, const Operation& operation) {
  const T field = thread.read<T>(operation.slot[1]);
  T result = thread.read<T>(operation.slot[2]);
  const std::uint32_t position = thread.read<std::uint8_t>(operation.slot[3]);
  const std::uint32_t length = thread.read<std::uint8_t>(operation.slot[4]);
  for (std::uint32_t i = 0; i < length && position + i < width<T>; ++i) {
    const T bit = static_cast<T>(T{1} << (position + i));
    result = static_cast<T>((field >> i & 1) != 0 ? result | bit : result & ~bit);
  }
  thread.write<T>(operation.slot[0], result);
}

void encode_extraction(Encoder& encoder) {
  const Scalar type = encoder.type();
  encoder.operation().slot = {encoder.destination(0), encoder.source(1, type), encoder.source(2, Scalar::U32),
                              encoder.source(3, Scalar::U32)};
  encoder.use(with_integer(type, []<class T>() -> Handler { return &extract_field<T>; }));
}

void encode_insertion(Encoder& encoder) {
  const Scalar type = encoder.type();
  encoder.operation().slot = {encoder.destination(0), encoder.source(1, type), encoder.source(2, type),
                              encoder.source(3, Scalar::U32), encoder.source(4, Scalar::U32)};
  encoder.use(bytes_of(type) == 8 ? &insert_field<std::uint64_t> : &insert_field<std::uint32_t>);
}

/// A position or length of more than 31 is cut to five bits (.wrap), or means 32 (.clamp): `mode` 1.
std::uint32_t cut_or_clamped(const Operation& operation, std::uint32_t value) {
  return operation.mode == 1 ? std::min(value, 32u) : value & 31;
}

/// The lowest bits of a word, 32 at most.
std::uint32_t ones(std::uint32_t count) { return count >= 32 ? ~0u : (1u << count) - 1; }

/// bmsk d, position, length: ones in that field.
void make_mask(Thread& thread, const Operation& operation) {
  const std::uint32_t position = cut_or_clamped(operation, thread.read<std::uint32_t>(operation.slot[1]));
  const std::uint32_t length = cut_or_clamped(operation, thread.read<std::uint32_t>(operation.slot[2]));
  thread.write<std::uint32_t>(operation.slot[0], ones(position + length) & ~ones(position));
}

/// szext d, a, length: the low bits of a, extended by zeros or, for .s32, by the highest of them.
template <bool Signed>
void extend_field(Thread& thread, const Operation& operation) {
  const auto value = thread.read<std::uint32_t>(operation.slot[1]);
  const std::uint32_t length = cut_or_clamped(operation, thread.read<std::uint32_t>(operation.slot[2]));
  const bool negative = Signed && length != 0 && (value >> (length - 1) & 1) != 0;
  thread.write<std::uint32_t>(operation.slot[0], (value & ones(length)) | (negative ? ~ones(length) : 0));
}

template <Handler Apply>
void encode_clamped(Encoder& encoder) {
  take_operands(encoder, 2, Scalar::B32);
  encoder.operation().mode = encoder.has("clamp") ? 1 : 0;
  encoder.use(Apply);
}

void encode_extension(Encoder& encoder) {
  if (encoder.type() == Scalar::S32) return encode_clamped<&extend_field<true>>(encoder);
  encode_clamped<&extend_field<false>>(encoder);
}

/// fns d, mask, base, n: where the n-th one of the mask is, counted from the base, downwards if n is negative.
void find_nth_one(Thread& thread, const Operation& operation) {
  const auto mask = thread.read<std::uint32_t>(operation.slot[1]);
  const auto base = thread.read<std::uint32_t>(operation.slot[2]);
  const auto offset = thread.read<std::int32_t>(operation.slot[3]);
  std::int64_t left = offset == 0 ? 1 : std::abs(std::int64_t{offset});
  std::uint32_t found = ~0u;
  for (std::int64_t at = base; at >= 0 && at < 32; at += offset < 0 ? -1 : 1) {
    if ((mask >> at & 1) != 0 && --left == 0) found = static_cast<std::uint32_t>(at);
    if (left == 0 || offset == 0) break;
  }
  thread.write<std::uint32_t>(operation.slot[0], found);
}

void encode_search(Encoder& encoder) {
  take_operands(encoder, 3, Scalar::B32);
  encoder.use(&find_nth_one);
}

constexpr std::array rules = {
    Rule{"bfe", encode_extraction},  Rule{"bfi", encode_insertion}, Rule{"bmsk", encode_clamped<&make_mask>},
    Rule{"szext", encode_extension}, Rule{"fns", encode_search},
};

}  // namespace

std::span<const Rule> bit_field_rules() { return rules; }

}  // namespace gpushare::interpreter
