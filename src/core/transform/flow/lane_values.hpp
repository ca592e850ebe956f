// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "core/transform/flow/single_writer_analysis.hpp"
#include "core/transform/flow/thread_group.hpp"

namespace gpushare::ptx {

/// Finds values made from thread indices that are the same in all these lanes of a warp, such as `threadIdx.x < 32` and
/// `threadIdx.x / 32`, in blocks of these shapes. An index is assumed not to be negative.
class LaneValues {
 public:
  LaneValues(const Module& module, const Function& function, const SingleWriterAnalysis& writers,
             const ThreadGroup& group);

  /// Is the result the same in all lanes that execute this, although it reads the thread's index?
  bool is_same_in_warp(std::size_t statement);

 private:
  /// How a value varies within a warp. A multiple is one of 32.
  enum class Kind : std::uint8_t {
    Unknown,
    Uniform,
    Multiple,
    Zero,         ///< the sign of an index
    Width,        ///< of the block
    Column,       ///< threadIdx.x in a block of any width
    Consecutive,  ///< a multiple + the lane + an offset
    Row,          ///< threadIdx.y
    Layer,        ///< threadIdx.z: 0, or rows are whole warps
    RowStart,     ///< what adds up with threadIdx.x to consecutive indices, however wide the block is
  };
  struct Value {
    Kind kind = Kind::Unknown;
    std::optional<std::int64_t> number{};
    std::int64_t offset = 0;       ///< of consecutive ones
    bool may_be_negative = false;  ///< something was subtracted

    bool is_uniform() const {
      return kind == Kind::Uniform || kind == Kind::Width || kind == Kind::Layer || is_multiple();
    }
    bool is_multiple() const { return kind == Kind::Multiple || kind == Kind::Zero; }
    bool is_consecutive_from_lane_0() const { return kind == Kind::Consecutive && offset % 32 == 0; }
  };
  /// What an instruction reads is what was written before it.
  struct StatementPlace {
    std::size_t statement;
    const Instruction& instruction;
  };

  static Value of_number(std::int64_t number);
  static Value combined(const Value& left, const Value& right);
  static Value sum(const Value& left, const Value& right);
  static Value sum_of_kinds(const Value& left, const Value& right);
  Kind product(const Value& left, const Value& right) const;
  bool is_width(const Value& value) const;
  /// Does a comparison that holds for this lane and not for others come out alike in all lanes of the group?
  bool is_alike_by_lane(std::int64_t lane) const;
  /// The same for a comparison that holds for all lanes before this one, or for all others.
  bool is_alike_before(std::int64_t lane) const;
  static Kind shifted_left(const Value& value, const Value& by);
  static Kind shifted_right(const Instruction& instruction, const Value& value, const Value& by);
  static Kind masked(const Value& value, const Value& mask);
  static Value inserted(const Value& field, const Value& base, const Value& at);

  StatementPlace place(std::size_t statement) const;
  Value of(const StatementPlace& place, std::size_t operand);
  Value of(std::string_view word, std::size_t reader);
  Value of_special_register(std::string_view word) const;
  Value assigned(const StatementPlace& place);
  Value computed(const StatementPlace& place);
  bool gives_all_lanes_one_value(const StatementPlace& place);
  bool compares_whole_warps(const StatementPlace& place);
  bool is_parameter_load(const StatementPlace& place);

  const Module& module_;
  const Function& function_;
  ThreadGroup group_;
  const SingleWriterAnalysis& writers_;
  std::unordered_map<std::size_t, Value> known_;  ///< by the statement that writes it
  int depth_ = 0;
};

}  // namespace gpushare::ptx
