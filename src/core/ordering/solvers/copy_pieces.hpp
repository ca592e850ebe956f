// SPDX-License-Identifier: Apache-2.0
// Splits large copies into pieces, so that a later task need not wait for another task's copy to end: its copies may go
// between two pieces. A piece costs the latency of a copy (Eq. 6: a x + b), so its size follows from the acceptable
// loss of bandwidth: b / (a x + b) = loss.
//
// Suits: open arrivals of short tasks beside large copies. Fails: pieces cost the loss even where no other task
// arrives; where all tasks are present from the beginning, their order decides, and pieces only cost.
#pragma once

#include "core/model/workload.hpp"
#include "core/ordering/solvers/flow_tables.hpp"
#include "core/ordering/transfer_time.hpp"

namespace gpushare {

/// Which tasks' copies may go between the pieces of a copy under way.
enum class CutIn {
  None,     ///< copies go whole
  Shorter,  ///< those of a task that needs the engine for less time than the one under way has left
  Urgent    ///< those of an application of a higher priority, and among equals of a shorter task
};

struct CopyPieces {
  CutIn cut_in = CutIn::None;
  Bytes to_device{};  ///< size of a piece; unused where no task may cut in
  Bytes to_host{};
  int at_a_time = 1;  ///< that an engine has

  /// 0 where a copy of this size goes whole.
  Bytes piece_of(const Copy& copy) const {
    if (cut_in == CutIn::None) return {};
    const Bytes piece = copy.direction == Copy::Direction::ToDevice ? to_device : to_host;
    return copy.size > piece ? piece : Bytes{};
  }
};

/// A task's claim to a copy engine.
struct CopyClaim {
  int priority = 0;
  Duration left{};  ///< for which it needs the engine
};

inline bool goes_before(CutIn cut_in, const CopyClaim& newcomer, const CopyClaim& under_way) {
  if (cut_in == CutIn::None) return false;
  if (cut_in == CutIn::Urgent && newcomer.priority != under_way.priority) return newcomer.priority > under_way.priority;
  return newcomer.left < under_way.left;
}

}  // namespace gpushare
