// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/engine/engine.hpp"

namespace gpushare {

/// Keeps every event and every plan. The GPU waits for the next decision meanwhile, so recorded events are never moved,
/// and the first pieces, enough for a hundred polls, are in memory that was touched beforehand: page faults and copies
/// took several times as long as the policy (benchmarks/look_cost.cpp).
class TraceRecorder : public RunObserver {
 public:
  TraceRecorder();
  void saw(const Event& event) override;
  void decided(const Plan& plan) override;
  Trace take();

 private:
  std::vector<std::vector<Event>> pieces_;  // all but the last are full
  std::vector<Decision> decisions_;
  std::size_t events_ = 0;
};

}  // namespace gpushare
