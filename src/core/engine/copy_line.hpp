// SPDX-License-Identifier: Apache-2.0
// The waiting copies of one direction, whole or in pieces. The copy with the smallest rank is next, in order of arrival
// among equals. A device asks for the next piece when its engine can take one.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "core/engine/gpu.hpp"

namespace gpushare {

/// The unit that an engine copies at a time.
struct CopyPiece {
  Submission copy;
  std::int64_t offset = 0;  ///< in the copy
  Bytes size;
  bool is_last = true;

  bool is_first() const { return offset == 0; }
  bool is_part() const { return copy.piece.count > 0; }
  /// May an engine that has so many pieces, this one the last of them, take another one?
  bool lets_follow(std::size_t pieces) const {
    return !is_part() || pieces < static_cast<std::size_t>(copy.pieces_at_a_time);
  }
};

class CopyLine {
 public:
  void add(const Submission& copy) { waiting_.push_back({.copy = copy}); }
  bool empty() const { return waiting_.empty(); }

  /// Does the next piece belong to a copy in pieces? Requires !empty().
  bool next_is_part() const { return waiting_[next()].copy.piece.count > 0; }
  /// May the next piece join so many that an engine has? Requires !empty().
  bool next_may_join(std::size_t pieces) const {
    const Submission& copy = waiting_[next()].copy;
    return copy.piece.count == 0 || pieces < static_cast<std::size_t>(copy.pieces_at_a_time);
  }
  /// The next piece goes to the engine. Requires !empty().
  CopyPiece take();

 private:
  struct WaitingCopy {
    Submission copy;
    std::int64_t gone = 0;  // bytes
  };

  std::size_t next() const;

  std::vector<WaitingCopy> waiting_;  // in the order in which they came
};

/// Start times of the copies that have not ended completely.
class CopyStarts {
 public:
  void begin(const CopyPiece& first, Time now) { starts_.emplace_back(first.copy.id, now); }
  Time end(const CopyPiece& last) {
    const auto start = std::ranges::find(starts_, last.copy.id, [](const auto& each) { return each.first; });
    const Time time = start->second;
    starts_.erase(start);
    return time;
  }

 private:
  std::vector<std::pair<OperationId, Time>> starts_;
};

}  // namespace gpushare
