// SPDX-License-Identifier: Apache-2.0
// mov, with packing and unpacking of vectors, selp and slct.
#include <algorithm>
#include <array>
#include <string>

#include "ptx_interpreter/block.hpp"
#include "ptx_interpreter/encoder.hpp"
#include "ptx_interpreter/rules/rules.hpp"

namespace gpushare::interpreter {
namespace {

void move(Thread& thread, const Operation& operation) {
  thread.registers[operation.slot[0]] = thread.registers[operation.slot[1]];
}

/// `mode` is the width of an element in bits.
void pack(Thread& thread, const Operation& operation) {
  const std::uint64_t mask = (std::uint64_t{1} << operation.mode) - 1;
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < operation.count; ++i) {
    value |= (thread.registers[operation.slot[i + 1]] & mask) << (i * operation.mode);
  }
  thread.registers[operation.slot[0]] = value;
}

void unpack(Thread& thread, const Operation& operation) {
  const std::uint64_t mask = (std::uint64_t{1} << operation.mode) - 1;
  const std::uint64_t value = thread.registers[operation.slot[7]];
  for (std::size_t i = 0; i < operation.count; ++i) {
    thread.registers[operation.slot[i]] = value >> (i * operation.mode) & mask;
  }
}

/// Whole registers, element by element: mov.v4.u32 {a, b, c, d}, %tid.
void move_vector(Thread& thread, const Operation& operation) {
  for (std::size_t i = 0; i < operation.count; ++i) {
    thread.registers[operation.slot[i]] = thread.registers[operation.slot[i + 4]];
  }
}

void encode_vector_move(Encoder& encoder) {
  static constexpr std::array components = {".x", ".y", ".z", ".w"};
  Operation& operation = encoder.operation();
  const std::vector<Slot> destinations = encoder.vector_destinations(0);
  std::vector<Slot> sources;
  if (encoder.word(1).starts_with('%')) {
    for (std::size_t i = 0; i < destinations.size(); ++i) {
      sources.push_back(encoder.value(std::string(encoder.word(1)) + components.at(i)));
    }
  } else {
    sources = encoder.sources(1, encoder.type());
  }
  if (sources.size() != destinations.size() || sources.size() > 4) encoder.fail("vectors of different lengths");
  std::ranges::copy(destinations, operation.slot.begin());
  std::ranges::copy(sources, operation.slot.begin() + 4);
  operation.count = static_cast<std::uint8_t>(sources.size());
  encoder.use(&move_vector);
}

void encode_move(Encoder& encoder) {
  if (encoder.has("v2") || encoder.has("v4")) return encode_vector_move(encoder);
  Operation& operation = encoder.operation();
  const Scalar type = encoder.type();
  const std::vector<Slot> sources = encoder.sources(1, type), destinations = encoder.vector_destinations(0);
  const std::size_t count = std::max(sources.size(), destinations.size());
  if (count > 4 || count == 0) encoder.fail("vectors have two or four elements");
  operation.count = static_cast<std::uint8_t>(count);
  operation.mode = static_cast<std::uint8_t>(8 * bytes_of(type) / count);
  if (count == 1) {
    operation.slot = {destinations[0], sources[0]};
    return encoder.use(&move);
  }
  if (sources.size() > 1) {
    operation.slot[0] = destinations[0];
    std::ranges::copy(sources, operation.slot.begin() + 1);
    return encoder.use(&pack);
  }
  std::ranges::copy(destinations, operation.slot.begin());
  operation.slot[7] = sources[0];
  encoder.use(&unpack);
}

void select(Thread& thread, const Operation& operation) {
  const bool first = thread.read<bool>(operation.slot[3]);
  thread.registers[operation.slot[0]] = thread.registers[operation.slot[first ? 1 : 2]];
}

void encode_select(Encoder& encoder) {
  const Scalar type = encoder.type();
  encoder.operation().slot = {encoder.destination(0), encoder.source(1, type), encoder.source(2, type),
                              encoder.source(3, Scalar::Pred)};
  encoder.use(&select);
}

template <class T>
void select_by_sign(Thread& thread, const Operation& operation) {
  const bool first = thread.read<T>(operation.slot[3]) >= 0;
  thread.registers[operation.slot[0]] = thread.registers[operation.slot[first ? 1 : 2]];
}

void encode_select_by_sign(Encoder& encoder) {
  const Scalar type = encoder.type(0), decides = encoder.type(1);
  encoder.operation().slot = {encoder.destination(0), encoder.source(1, type), encoder.source(2, type),
                              encoder.source(3, decides)};
  encoder.use(decides == Scalar::F32 ? &select_by_sign<float> : &select_by_sign<std::int32_t>);
}

constexpr std::array rules = {
    Rule{"mov", encode_move},
    Rule{"selp", encode_select},
    Rule{"slct", encode_select_by_sign},
};

}  // namespace

std::span<const Rule> move_rules() { return rules; }

}  // namespace gpushare::interpreter
