// SPDX-License-Identifier: Apache-2.0
// The copies of one direction that have not gone yet, whole or in pieces, and whose turn it is: the smallest rank, and
// of equals who came first. A device asks for the next piece when its engine can take one.
#pragma once

#include <vector>

#include "core/gpu.hpp"

namespace gpushare {

/// What an engine copies at a time.
struct CopyPiece {
  Submission copy;
  std::int64_t offset = 0;  ///< in the copy
  Bytes size;
  Time started{};  ///< when the copy's first piece did
  bool is_last = true;

  bool is_first() const { return offset == 0; }
  bool is_part() const { return copy.piece.count > 0; }
};

class CopyLine {
 public:
  void add(const Submission& copy) { waiting_.push_back({.copy = copy}); }
  bool empty() const { return waiting_.empty(); }

  /// Does the next piece belong to a copy in pieces? Requires !empty().
  bool next_is_part() const { return waiting_[next()].copy.piece.count > 0; }
  /// The next piece starts now. Requires !empty().
  CopyPiece take(Time now);

 private:
  struct Waiting {
    Submission copy;
    std::int64_t gone = 0;  // bytes
    Time started{};
  };

  std::size_t next() const;

  std::vector<Waiting> waiting_;  // in the order in which they came
};

}  // namespace gpushare
