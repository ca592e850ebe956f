// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "core/transform/only_writers.hpp"

namespace gpushare::ptx {

/// Knows which values made from thread indices are the same in all lanes of a warp, such as `threadIdx.x < 32` and
/// `threadIdx.x / 32`. Everybody who writes these takes it that warps consist of threads consecutive in x: that blocks
/// have one dimension, or are a multiple of 32 threads wide. So does this, and that an index is not negative.
class LaneValues {
 public:
  LaneValues(const Module& module, const Function& function, const OnlyWriters& writers);

  /// Is the result the same in all lanes that come by, although this reads the thread's index?
  bool is_same_in_warp(std::size_t statement);

 private:
  /// How a value lies in a warp. A multiple is one of 32.
  enum class Kind : std::uint8_t {
    Unknown,
    Uniform,
    Multiple,
    Zero,         ///< the sign of an index
    Width,        ///< of the block: a multiple, or the block has one dimension
    Consecutive,  ///< a multiple + the lane + an offset
    Row,          ///< threadIdx.y and the like
    RowStart,     ///< what adds up with threadIdx.x to consecutive indices, however wide the block is
  };
  struct Value {
    Kind kind = Kind::Unknown;
    std::optional<std::int64_t> number{};
    std::int64_t offset = 0;  ///< of consecutive ones

    bool is_uniform() const { return kind == Kind::Uniform || is_multiple(); }
    bool is_multiple() const { return kind == Kind::Multiple || kind == Kind::Zero || kind == Kind::Width; }
    bool is_consecutive_from_lane_0() const { return kind == Kind::Consecutive && offset % 32 == 0; }
  };
  /// What an instruction reads is what was written before it.
  struct Place {
    std::size_t statement;
    const Instruction& instruction;
  };

  static Value of_number(std::int64_t number);
  static Value sum(const Value& left, const Value& right);
  static Kind product(const Value& left, const Value& right);
  static Kind shifted_left(const Value& value, const Value& by);
  static Kind shifted_right(const Instruction& instruction, const Value& value, const Value& by);
  static Kind masked(const Value& value, const Value& mask);

  Place place(std::size_t statement) const;
  Value of(const Place& place, std::size_t operand);
  Value of(std::string_view word, std::size_t reader);
  Value of_special_register(std::string_view word) const;
  Value assigned(const Place& place);
  Value computed(const Place& place);
  bool gives_all_lanes_one_value(const Place& place);
  bool compares_whole_warps(const Place& place);
  bool is_parameter_load(const Instruction& instruction) const;

  const Module& module_;
  const Function& function_;
  bool rows_are_whole_warps_ = false;
  const OnlyWriters& writers_;
  std::unordered_map<std::size_t, Value> known_;  ///< by the statement that writes it
  int depth_ = 0;
};

}  // namespace gpushare::ptx
