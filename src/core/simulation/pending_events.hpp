// SPDX-License-Identifier: Apache-2.0
// Events of the simulated GPU that happened at one moment and are reported one after the other.
#pragma once

#include <cstddef>
#include <vector>

#include "core/engine/event.hpp"

namespace gpushare {

class PendingEvents {
 public:
  void add(const Event& event) { events_.push_back(event); }
  bool empty() const { return events_.empty(); }

  /// Requires that it is not empty.
  Event take() {
    const Event next = events_[taken_++];
    if (taken_ == events_.size()) {
      events_.clear();
      taken_ = 0;
    }
    return next;
  }

 private:
  std::vector<Event> events_;  // empty once all have been taken
  std::size_t taken_ = 0;
};

}  // namespace gpushare
