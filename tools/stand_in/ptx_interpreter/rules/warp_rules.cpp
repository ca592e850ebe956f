// SPDX-License-Identifier: Apache-2.0
// shfl, vote, match, redux, elect and activemask.
#include <algorithm>
#include <array>
#include <string>

#include "ptx_interpreter/block.hpp"
#include "ptx_interpreter/encoder.hpp"
#include "ptx_interpreter/rules/rules.hpp"
#include "ptx_interpreter/warp_operations.hpp"

namespace gpushare::interpreter {
namespace {

enum class Shuffle : std::uint8_t { Up, Down, Butterfly, Index };

/// What a shuffle from a lane that takes no part gives; the hardware promises nothing.
constexpr std::uint32_t no_lane = 0xbad1a7e5;

template <class Function>
void for_each_lane(const Warp& warp, std::uint32_t lanes, Function function) {
  for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
    function(warp.lane(static_cast<std::uint32_t>(std::countr_zero(left))));
  }
}

struct Source {
  std::uint32_t lane = 0;
  bool in_range = false;
};

/// The pseudo code of the PTX manual: b is the distance or lane, c clamps and splits the warp into segments.
Source source_lane(Shuffle mode, std::uint32_t lane, std::uint32_t b, std::uint32_t c) {
  const int distance = static_cast<int>(b & 31), segment = static_cast<int>(c >> 8 & 31), self = static_cast<int>(lane);
  const int last = (self & segment) | (static_cast<int>(c & 31) & ~segment);
  const int first = self & segment;
  int from = 0;
  switch (mode) {
    case Shuffle::Up:
      from = self - distance;
      break;
    case Shuffle::Down:
      from = self + distance;
      break;
    case Shuffle::Butterfly:
      from = self ^ distance;
      break;
    case Shuffle::Index:
      from = first | (distance & ~segment);
      break;
  }
  const bool in_range = mode == Shuffle::Up ? from >= last : from <= last;
  return {static_cast<std::uint32_t>(in_range ? from : self), in_range};
}

/// slots: destination, predicate, value, b, c
void shuffle(Warp& warp, std::uint32_t lanes, const Operation& operation) {
  std::array<std::uint32_t, warp_size> values;
  values.fill(no_lane);
  for_each_lane(warp, lanes, [&](Thread& each) { values[each.lane] = each.read<std::uint32_t>(operation.slot[2]); });
  for_each_lane(warp, lanes, [&](Thread& each) {
    const Source source =
        source_lane(static_cast<Shuffle>(operation.mode), each.lane, each.read<std::uint32_t>(operation.slot[3]),
                    each.read<std::uint32_t>(operation.slot[4]));
    each.write<bool>(operation.slot[1], source.in_range);
    each.write<std::uint32_t>(operation.slot[0], values[source.lane & 31]);
  });
}

void wait_with(Encoder& encoder, Collective collective, std::size_t mask_operand) {
  encoder.operation().slot[mask_slot] = encoder.source(mask_operand, Scalar::B32);
  encoder.operation().collective = collective;
  encoder.use(&wait_for_lanes);
}

void encode_shuffle(Encoder& encoder) {
  if (!encoder.has("sync")) encoder.fail("shuffles need .sync since sm_70");
  Operation& operation = encoder.operation();
  operation.mode = static_cast<std::uint8_t>(encoder.has("up")     ? Shuffle::Up
                                             : encoder.has("down") ? Shuffle::Down
                                             : encoder.has("bfly") ? Shuffle::Butterfly
                                                                   : Shuffle::Index);
  const auto [value, predicate] = encoder.destinations(0);
  operation.slot = {value, predicate, encoder.source(1, Scalar::B32), encoder.source(2, Scalar::B32),
                    encoder.source(3, Scalar::B32)};
  wait_with(encoder, &shuffle, 4);
}

std::uint32_t ballot_of(const Warp& warp, std::uint32_t lanes, const Operation& operation) {
  std::uint32_t ballot = 0;
  for_each_lane(warp, lanes, [&](Thread& each) {
    if (each.read<bool>(operation.slot[1])) ballot |= 1u << each.lane;
  });
  return ballot;
}

void ballot(Warp& warp, std::uint32_t lanes, const Operation& operation) {
  const std::uint32_t result = ballot_of(warp, lanes, operation);
  for_each_lane(warp, lanes, [&](Thread& each) { each.write<std::uint32_t>(operation.slot[0], result); });
}

enum class Vote : std::uint8_t { All, Any, Uniform };

void vote(Warp& warp, std::uint32_t lanes, const Operation& operation) {
  const std::uint32_t ballot = ballot_of(warp, lanes, operation);
  const auto kind = static_cast<Vote>(operation.mode);
  const bool result = kind == Vote::All   ? ballot == lanes
                      : kind == Vote::Any ? ballot != 0
                                          : ballot == lanes || ballot == 0;
  for_each_lane(warp, lanes, [&](Thread& each) { each.write<bool>(operation.slot[0], result); });
}

void encode_vote(Encoder& encoder) {
  if (!encoder.has("sync")) encoder.fail("votes need .sync since sm_70");
  encoder.operation().mode = static_cast<std::uint8_t>(encoder.has("all")   ? Vote::All
                                                       : encoder.has("any") ? Vote::Any
                                                                            : Vote::Uniform);
  encoder.operation().slot = {encoder.destination(0), encoder.source(1, Scalar::Pred)};
  wait_with(encoder, encoder.has("ballot") ? &ballot : &vote, 2);
}

template <class T>
T reduced(std::string_view name, T left, T right) {
  if (name == "add") return static_cast<T>(static_cast<std::uint32_t>(left) + static_cast<std::uint32_t>(right));
  if (name == "min") return std::min(left, right);
  if (name == "max") return std::max(left, right);
  if (name == "and") return left & right;
  return name == "or" ? left | right : left ^ right;
}

constexpr std::array<std::string_view, 6> reductions = {"add", "min", "max", "and", "or", "xor"};

template <class T>
void reduce(Warp& warp, std::uint32_t lanes, const Operation& operation) {
  const std::string_view name = reductions[operation.mode];
  const auto first = static_cast<std::uint32_t>(std::countr_zero(lanes));
  T result = warp.lane(first).read<T>(operation.slot[1]);
  for_each_lane(warp, lanes & (lanes - 1),
                [&](Thread& each) { result = reduced(name, result, each.read<T>(operation.slot[1])); });
  for_each_lane(warp, lanes, [&](Thread& each) { each.write<T>(operation.slot[0], result); });
}

void encode_reduction(Encoder& encoder) {
  const auto name = std::ranges::find_if(reductions, [&](std::string_view each) { return encoder.has(each); });
  if (name == reductions.end() || is_float(encoder.type()))
    encoder.fail("the interpreter does not know this reduction");
  encoder.operation().mode = static_cast<std::uint8_t>(name - reductions.begin());
  encoder.operation().slot = {encoder.destination(0), encoder.source(1, encoder.type())};
  wait_with(encoder, encoder.type() == Scalar::S32 ? &reduce<std::int32_t> : &reduce<std::uint32_t>, 2);
}

/// slots: destination, predicate, value. `mode` is 1 for match.all.
template <class T>
void match(Warp& warp, std::uint32_t lanes, const Operation& operation) {
  std::array<T, warp_size> values{};  // kept apart: the destination may be the register that is compared
  for_each_lane(warp, lanes, [&](Thread& each) { values[each.lane] = each.read<T>(operation.slot[2]); });
  for_each_lane(warp, lanes, [&](Thread& each) {
    std::uint32_t same = 0;
    for (std::uint32_t lane = 0; lane < warp_size; ++lane) {
      if ((lanes >> lane & 1) != 0 && values[lane] == values[each.lane]) same |= 1u << lane;
    }
    each.write<bool>(operation.slot[1], same == lanes);
    each.write<std::uint32_t>(operation.slot[0], operation.mode == 1 && same != lanes ? 0 : same);
  });
}

void encode_match(Encoder& encoder) {
  const auto [mask, predicate] = encoder.destinations(0);
  encoder.operation().mode = encoder.has("all") ? 1 : 0;
  encoder.operation().slot = {mask, predicate, encoder.source(1, encoder.type())};
  wait_with(encoder, bytes_of(encoder.type()) == 8 ? &match<std::uint64_t> : &match<std::uint32_t>, 2);
}

void elect(Warp& warp, std::uint32_t lanes, const Operation& operation) {
  const auto leader = static_cast<std::uint32_t>(std::countr_zero(lanes));
  for_each_lane(warp, lanes, [&](Thread& each) {
    each.write<std::uint32_t>(operation.slot[0], leader);
    each.write<bool>(operation.slot[1], each.lane == leader);
  });
}

void encode_election(Encoder& encoder) {
  const auto [leader, predicate] = encoder.destinations(0);
  encoder.operation().slot = {leader, predicate};
  wait_with(encoder, &elect, 1);
}

void encode_active_mask(Encoder& encoder) {
  encoder.operation().slot[0] = encoder.destination(0);
  encoder.use(&wait_for_active_lanes);
}

constexpr std::array rules = {
    Rule{"shfl", encode_shuffle}, Rule{"vote", encode_vote},      Rule{"redux", encode_reduction},
    Rule{"match", encode_match},  Rule{"elect", encode_election}, Rule{"activemask", encode_active_mask},
};

}  // namespace

std::span<const Rule> warp_rules() { return rules; }

}  // namespace gpushare::interpreter
