// SPDX-License-Identifier: Apache-2.0
// ld, st, cvta, isspacep, cp.async. All accesses are sequentially consistent, so that fences have nothing to do.
#include <algorithm>
#include <array>

#include "ptx_interpreter/address_space.hpp"
#include "ptx_interpreter/block.hpp"
#include "ptx_interpreter/encoder.hpp"
#include "ptx_interpreter/rules/rules.hpp"

namespace gpushare::interpreter {
namespace {

template <class T>
void load(Thread& thread, const Operation& operation) {
  const std::byte* from =
      locate(thread, operation.space, address_of(thread, operation), sizeof(T) * operation.count, Access::Kind::Load);
  for (std::size_t i = 0; i < operation.count; ++i) {
    T value;
    std::memcpy(&value, from + i * sizeof(T), sizeof(T));
    thread.write<T>(operation.slot[i], value);
  }
}

template <class T>
void store(Thread& thread, const Operation& operation) {
  std::byte* to =
      locate(thread, operation.space, address_of(thread, operation), sizeof(T) * operation.count, Access::Kind::Store);
  for (std::size_t i = 0; i < operation.count; ++i) {
    const T value = thread.read<T>(operation.slot[i]);
    std::memcpy(to + i * sizeof(T), &value, sizeof(T));
  }
}

template <class Choose>
Handler by_width(Scalar type, Choose choose) {
  if (!is_float(type)) return with_integer(type, choose);
  return with_integer(bytes_of(type) == 8 ? Scalar::B64 : bytes_of(type) == 4 ? Scalar::B32 : Scalar::B16, choose);
}

void take_space(Encoder& encoder) {
  for (const std::string_view each : encoder.suffixes()) {
    const Space space = space_named(each);
    if (space != Space::Generic) encoder.operation().space = space;
  }
}

/// Parameters of functions live in the frame: the operand says so, and what it says goes before the suffix.
void take_address(Encoder& encoder, std::size_t operand) {
  take_space(encoder);
  const bool is_parameter = encoder.operation().space == Space::Parameter;
  const Space suffix = encoder.operation().space;
  encoder.address(operand);
  if (!is_parameter) encoder.operation().space = suffix;
  if (encoder.operation().space == Space::Parameter && !encoder.code().is_entry) {
    encoder.operation().space = Space::Local;  // through a register
  }
}

void take_data(Encoder& encoder, const std::vector<Slot>& slots) {
  if (slots.size() > encoder.operation().slot.size()) encoder.fail("too many elements");
  std::ranges::copy(slots, encoder.operation().slot.begin());
  encoder.operation().count = static_cast<std::uint8_t>(slots.size());
}

void encode_load(Encoder& encoder) {
  take_data(encoder, encoder.vector_destinations(0));
  take_address(encoder, 1);
  encoder.use(by_width(encoder.type(), []<class T>() -> Handler { return &load<T>; }));
}

void encode_store(Encoder& encoder) {
  take_data(encoder, encoder.sources(1, encoder.type()));
  take_address(encoder, 0);
  encoder.use(by_width(encoder.type(), []<class T>() -> Handler { return &store<T>; }));
}

void convert_address(Thread& thread, const Operation& operation) {
  thread.registers[operation.slot[0]] =
      thread.registers[operation.slot[1]] + static_cast<std::uint64_t>(operation.offset);
}

void encode_convert_address(Encoder& encoder) {
  take_space(encoder);
  Operation& operation = encoder.operation();
  const std::uint64_t window = window_of(operation.space);
  operation.slot[0] = encoder.destination(0);
  operation.slot[1] = encoder.source(1, Scalar::B64);
  operation.offset = static_cast<std::int64_t>(encoder.has("to") ? 0 - window : window);
  encoder.use(&convert_address);
}

void is_in_space(Thread& thread, const Operation& operation) {
  const Space space = space_of(thread.registers[operation.slot[1]]);
  thread.write<bool>(operation.slot[0], space == operation.space);
}

void encode_is_in_space(Encoder& encoder) {
  take_space(encoder);
  encoder.operation().slot = {encoder.destination(0), encoder.source(1, Scalar::B64)};
  encoder.use(&is_in_space);
}

/// Copies at once, which is one of the moments the hardware may choose. Bytes beyond the source's size become zero.
void copy_asynchronously(Thread& thread, const Operation& operation) {
  const auto bytes = thread.read<std::uint32_t>(operation.slot[2]);
  const auto from_source = std::min(bytes, thread.read<std::uint32_t>(operation.slot[3]));
  std::array<std::byte, 16> value{};
  if (bytes > value.size()) fail(thread, "copies more than 16 bytes at once");
  const auto source = thread.registers[operation.slot[1]] + static_cast<std::uint64_t>(operation.offset);
  if (from_source != 0) {
    std::memcpy(value.data(), locate(thread, Space::Global, source, bytes, Access::Kind::Load), from_source);
  }
  const auto destination = thread.registers[operation.slot[0]] + operation.target;
  std::memcpy(locate(thread, Space::Shared, static_cast<std::uint32_t>(destination), bytes, Access::Kind::Store),
              value.data(), bytes);
}

void encode_copy(Encoder& encoder) {
  if (!encoder.has("ca") && !encoder.has("cg")) {
    const bool waits = encoder.has("commit_group") || encoder.has("wait_group") || encoder.has("wait_all");
    if (!waits) encoder.fail("the interpreter does not know this kind of asynchronous copy");
    return;
  }
  Operation& operation = encoder.operation();
  encoder.address(0);
  const Slot destination = operation.address;
  operation.target = static_cast<std::uint32_t>(operation.offset);
  encoder.address(1);
  const Slot bytes = encoder.source(2, Scalar::B32);
  const bool has_size = encoder.operands() > 3;
  operation.slot = {destination, operation.address, bytes, has_size ? encoder.source(3, Scalar::B32) : bytes};
  encoder.use(&copy_asynchronously);
}

void encode_nothing(Encoder&) {}

constexpr std::array rules = {
    Rule{"ld", encode_load},
    Rule{"ldu", encode_load},
    Rule{"st", encode_store},
    Rule{"cvta", encode_convert_address},
    Rule{"isspacep", encode_is_in_space},
    Rule{"cp", encode_copy},
    Rule{"prefetch", encode_nothing},
    Rule{"prefetchu", encode_nothing},
    Rule{"membar", encode_nothing},
    Rule{"fence", encode_nothing},
    Rule{"griddepcontrol", encode_nothing},  // nothing is launched with the attribute that gives it a meaning
    Rule{"discard", encode_nothing},
    Rule{"applypriority", encode_nothing},
};

}  // namespace

std::span<const Rule> memory_rules() { return rules; }

}  // namespace gpushare::interpreter
