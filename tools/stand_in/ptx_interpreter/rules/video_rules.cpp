// SPDX-License-Identifier: Apache-2.0
// vadd4, vsub4, vabsdiff4, vmin4, vmax4 and the same of two halfwords, without masks and selectors.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>

#include "ptx_interpreter/arithmetic.hpp"
#include "ptx_interpreter/rules/rules.hpp"

namespace gpushare::interpreter {
namespace {

enum class Video : std::uint8_t { Add, Subtract, AbsoluteDifference, Minimum, Maximum };

std::int32_t apply(Video kind, std::int32_t a, std::int32_t b) {
  switch (kind) {
    case Video::Add:
      return a + b;
    case Video::Subtract:
      return a - b;
    case Video::AbsoluteDifference:
      return std::abs(a - b);
    case Video::Minimum:
      return std::min(a, b);
    case Video::Maximum:
      return std::max(a, b);
  }
  return 0;
}

/// Bits of Operation::mode.
constexpr std::uint8_t signed_a = 1, signed_b = 2, signed_result = 4, accumulates = 8;

template <class Lane>
std::int32_t lane(std::uint32_t word, std::size_t bit, bool is_signed) {
  const auto value = static_cast<Lane>(word >> bit);
  return is_signed ? std::int32_t{static_cast<std::make_signed_t<Lane>>(value)} : std::int32_t{value};
}

template <class Lane>
std::int32_t clamped(std::int32_t value, bool is_signed) {
  using Signed = std::numeric_limits<std::make_signed_t<Lane>>;
  if (is_signed) return std::clamp<std::int32_t>(value, Signed::min(), Signed::max());
  return std::clamp<std::int32_t>(value, 0, std::numeric_limits<Lane>::max());
}

/// slots: d, a, b, c. Accumulated, the results of all lanes are added to c.
template <Video Kind, class Lane>
void video_operation(Thread& thread, const Operation& operation) {
  const auto a = thread.read<std::uint32_t>(operation.slot[1]), b = thread.read<std::uint32_t>(operation.slot[2]);
  std::uint32_t sum = thread.read<std::uint32_t>(operation.slot[3]), packed = 0;
  for (std::size_t bit = 0; bit < 32; bit += width<Lane>) {
    std::int32_t result = apply(Kind, lane<Lane>(a, bit, (operation.mode & signed_a) != 0),
                                lane<Lane>(b, bit, (operation.mode & signed_b) != 0));
    if (operation.saturate) result = clamped<Lane>(result, (operation.mode & signed_result) != 0);
    sum += static_cast<std::uint32_t>(result);
    packed |= static_cast<std::uint32_t>(static_cast<Lane>(result)) << bit;
  }
  thread.write<std::uint32_t>(operation.slot[0], (operation.mode & accumulates) != 0 ? sum : packed);
}

template <Video Kind, class Lane>
void encode(Encoder& encoder) {
  take_operands(encoder, 3, Scalar::B32);
  const std::array bits = {signed_result, signed_a, signed_b};
  std::uint8_t mode = encoder.has("add") ? accumulates : 0;
  for (std::size_t i = 0; i < bits.size(); ++i) {
    if (encoder.type(i) == Scalar::S32) mode = static_cast<std::uint8_t>(mode | bits[i]);
  }
  encoder.operation().mode = mode;
  encoder.operation().saturate = encoder.has("sat");
  encoder.use(&video_operation<Kind, Lane>);
}

constexpr std::array rules = {
    Rule{"vadd4", encode<Video::Add, std::uint8_t>},
    Rule{"vsub4", encode<Video::Subtract, std::uint8_t>},
    Rule{"vabsdiff4", encode<Video::AbsoluteDifference, std::uint8_t>},
    Rule{"vmin4", encode<Video::Minimum, std::uint8_t>},
    Rule{"vmax4", encode<Video::Maximum, std::uint8_t>},
    Rule{"vadd2", encode<Video::Add, std::uint16_t>},
    Rule{"vsub2", encode<Video::Subtract, std::uint16_t>},
    Rule{"vabsdiff2", encode<Video::AbsoluteDifference, std::uint16_t>},
    Rule{"vmin2", encode<Video::Minimum, std::uint16_t>},
    Rule{"vmax2", encode<Video::Maximum, std::uint16_t>},
};

}  // namespace

std::span<const Rule> video_rules() { return rules; }

}  // namespace gpushare::interpreter
