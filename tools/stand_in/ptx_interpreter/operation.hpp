// SPDX-License-Identifier: Apache-2.0
// One decoded instruction: a function to call and the registers it works on.
#pragma once

#include <array>
#include <cstdint>

#include "ptx_interpreter/scalar.hpp"

namespace gpushare::interpreter {

struct Thread;
struct Warp;
struct Operation;

using Handler = void (*)(Thread&, const Operation&);
/// Does a warp-wide instruction for all lanes of a set once each of them has come to it.
using Collective = void (*)(Warp&, std::uint32_t lanes, const Operation&);

enum class Space : std::uint8_t { Generic, Global, Constant, Shared, Local, Parameter };
enum class Rounding : std::uint8_t { Nearest, Zero, Down, Up };
enum class Combination : std::uint8_t { None, And, Or, Xor };

/// Slots number the registers of a frame: declared registers, then constants and special registers, which are filled in
/// when the frame is made. An instruction needs not know which of them an operand is.
using Slot = std::int32_t;
constexpr Slot no_slot = -1;

struct Operation {
  Handler handler = nullptr;
  Collective collective = nullptr;
  std::int64_t offset = 0;     ///< of a memory operand
  std::array<Slot, 8> slot{};  ///< the destination comes first
  Slot guard = no_slot;
  Slot address = no_slot;    ///< of a memory operand
  std::uint32_t target = 0;  ///< where a branch goes; which call or branch table
  std::uint32_t line = 0;
  std::uint8_t count = 1;  ///< of elements of a vector; of operands where it varies
  Space space = Space::Generic;
  Rounding rounding = Rounding::Nearest;
  Combination combination = Combination::None;
  bool negated = false;  ///< @!p
  bool narrow = false;   ///< the address register has 32 bits
  bool flush = false;    ///< .ftz
  bool saturate = false;
  bool relu = false;      ///< negative results become 0
  bool aligned = false;   ///< a barrier that takes whole warps only
  std::uint8_t mode = 0;  ///< what else an instruction needs to know
};

}  // namespace gpushare::interpreter
