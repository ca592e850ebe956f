// SPDX-License-Identifier: Apache-2.0
// atom and red. One instruction is one indivisible step, in whatever order the scheduler brings them.
#include <algorithm>
#include <array>

#include "ptx_interpreter/address_space.hpp"
#include "ptx_interpreter/block.hpp"
#include "ptx_interpreter/encoder.hpp"
#include "ptx_interpreter/rules/rules.hpp"

namespace gpushare::interpreter {
namespace {

template <class T>
struct Sum {
  static T apply(T old, T value, T) {
    if constexpr (std::is_floating_point_v<T>) {
      return old + value;
    } else if constexpr (is_half<T>) {
      return T(static_cast<double>(old) + static_cast<double>(value));
    } else if constexpr (is_pair<T>) {
      return {Sum<typename T::Element>::apply(old.low, value.low, {}),
              Sum<typename T::Element>::apply(old.high, value.high, {})};
    } else {
      return static_cast<T>(static_cast<std::uint64_t>(old) + static_cast<std::uint64_t>(value));
    }
  }
};

template <class T>
struct Exchange {
  static T apply(T, T value, T) { return value; }
};
template <class T>
struct CompareAndSwap {
  static T apply(T old, T expected, T value) { return old == expected ? value : old; }
};
template <class T>
struct Smaller {
  static T apply(T old, T value, T) { return std::min(old, value); }
};
template <class T>
struct Larger {
  static T apply(T old, T value, T) { return std::max(old, value); }
};
template <class T>
struct And {
  static T apply(T old, T value, T) { return old & value; }
};
template <class T>
struct Or {
  static T apply(T old, T value, T) { return old | value; }
};
template <class T>
struct Xor {
  static T apply(T old, T value, T) { return old ^ value; }
};
/// Counts up to the limit, then starts at 0.
template <class T>
struct CountUp {
  static T apply(T old, T limit, T) { return old >= limit ? T{0} : static_cast<T>(old + 1); }
};
/// Counts down to 0, then starts at the limit.
template <class T>
struct CountDown {
  static T apply(T old, T limit, T) { return old == 0 || old > limit ? limit : static_cast<T>(old - 1); }
};

template <template <class> class Update, class T>
void update(Thread& thread, const Operation& operation) {
  std::byte* at = locate(thread, operation.space, address_of(thread, operation), sizeof(T), Access::Kind::Atomic);
  T old;
  std::memcpy(&old, at, sizeof(T));
  const T value = Update<T>::apply(old, thread.read<T>(operation.slot[1]), thread.read<T>(operation.slot[2]));
  std::memcpy(at, &value, sizeof(T));
  thread.write<T>(operation.slot[0], old);
}

/// atom.add.v2.f32 and its like: old values go to slots 0 to 3, new ones come from 4 to 7.
template <class T>
void add_vector(Thread& thread, const Operation& operation) {
  std::byte* at =
      locate(thread, operation.space, address_of(thread, operation), sizeof(T) * operation.count, Access::Kind::Atomic);
  for (std::size_t i = 0; i < operation.count; ++i) {
    T old;
    std::memcpy(&old, at + i * sizeof(T), sizeof(T));
    const T value = Sum<T>::apply(old, thread.read<T>(operation.slot[i + 4]), {});
    std::memcpy(at + i * sizeof(T), &value, sizeof(T));
    thread.write<T>(operation.slot[i], old);
  }
}

template <template <class> class Update>
Handler integer_update(Scalar type) {
  return with_integer(type, []<class T>() -> Handler { return &update<Update, T>; });
}

Handler sum(Scalar type) {
  if (type == Scalar::F16x2) return &update<Sum, Pair<Half>>;
  if (type == Scalar::BF16x2) return &update<Sum, Pair<BrainHalf>>;
  if (is_float(type)) return with_real(type, []<class T>() -> Handler { return &update<Sum, T>; });
  return integer_update<Sum>(type);
}

struct Kind {
  std::string_view name;
  Handler (*handler)(Scalar);
};

constexpr std::array kinds = {
    Kind{"add", sum},
    Kind{"exch", integer_update<Exchange>},
    Kind{"cas", integer_update<CompareAndSwap>},
    Kind{"min", integer_update<Smaller>},
    Kind{"max", integer_update<Larger>},
    Kind{"and", integer_update<And>},
    Kind{"or", integer_update<Or>},
    Kind{"xor", integer_update<Xor>},
    Kind{"inc", integer_update<CountUp>},
    Kind{"dec", integer_update<CountDown>},
};

void encode_vector(Encoder& encoder, std::size_t first) {
  Operation& operation = encoder.operation();
  const std::vector<Slot> sources = encoder.sources(first + 1, encoder.type());
  if (sources.size() > 4 || !encoder.has("add") || encoder.type() != Scalar::F32) {
    encoder.fail("the interpreter does not know this atomic operation on vectors");
  }
  operation.slot.fill(encoder.scratch());
  if (first == 1) std::ranges::copy(encoder.vector_destinations(0), operation.slot.begin());
  std::ranges::copy(sources, operation.slot.begin() + 4);
  operation.count = static_cast<std::uint8_t>(sources.size());
  encoder.use(&add_vector<float>);
}

void encode_update(Encoder& encoder, std::size_t first) {
  const Scalar type = encoder.type();
  Operation& operation = encoder.operation();
  encoder.address(first);
  operation.space = Space::Generic;
  for (const std::string_view each : encoder.suffixes()) {
    if (const Space space = space_named(each); space != Space::Generic) operation.space = space;
  }
  if (encoder.has("v2") || encoder.has("v4")) return encode_vector(encoder, first);
  operation.slot[0] = first == 0 ? encoder.scratch() : encoder.destination(0);
  operation.slot[1] = encoder.source(first + 1, type);
  operation.slot[2] = encoder.has("cas") ? encoder.source(first + 2, type) : operation.slot[1];
  for (const Kind& each : kinds) {
    if (encoder.has(each.name)) return encoder.use(each.handler(type));
  }
  encoder.fail("the interpreter does not know this atomic operation");
}

constexpr std::array rules = {
    Rule{"atom", [](Encoder& encoder) { encode_update(encoder, 1); }},
    Rule{"red", [](Encoder& encoder) { encode_update(encoder, 0); }},
};

}  // namespace

std::span<const Rule> atomic_rules() { return rules; }

}  // namespace gpushare::interpreter
