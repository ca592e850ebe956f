// SPDX-License-Identifier: Apache-2.0
// The workers of a launch on every SM of the simulated GPU. A launch brings as many as its first quota allows; those
// without room wait for it in the hardware. One that ends a block takes the next at once, or makes room and is gone: to
// have more blocks than workers again takes a top-up by the host.
#pragma once

#include <limits>
#include <optional>
#include <vector>

#include "core/engine/plan.hpp"
#include "core/model/units.hpp"

namespace gpushare {

class LaunchWorkers {
 public:
  LaunchWorkers(int sms, Duration top_up) : top_up_(nanoseconds(top_up)) {
    if (top_up_ > 0) sms_.resize(static_cast<std::size_t>(sms));
  }

  /// The launch is over, and none are needed any more: a run keeps its launches.
  void release() { std::vector<SmWorkers>().swap(sms_); }

  /// The first quota that allows any block is what the launch starts with.
  void bring(const Quota& quota) {
    if (sms_.empty() || brought_ || quota.largest() == 0) return;
    brought_ = true;
    for (std::size_t sm = 0; sm < sms_.size(); ++sm) sms_[sm].workers = quota.at(static_cast<SmId>(sm));
  }

  /// Is there a worker for one block more than the `resident` ones?
  bool has_one_more(SmId sm, int resident, double now) const {
    if (sms_.empty()) return true;
    const SmWorkers& here = sms_[index(sm)];
    return resident < here.workers + here.free_at(now) || now >= here.topped_up_at;
  }

  /// Asks for workers, unless that has been done. Returns when they will be there, if it is news.
  std::optional<double> ask(SmId sm, double now) {
    SmWorkers& here = sms_[index(sm)];
    if (here.topped_up_at != never) return std::nullopt;
    here.topped_up_at = now + top_up_;
    return here.topped_up_at;
  }

  void start(SmId sm, int resident, int limit, double now) {
    if (sms_.empty()) return;
    SmWorkers& here = sms_[index(sm)];
    if (resident < here.workers) return;
    if (here.free_at(now) > 0) {
      --here.free;
      ++here.workers;
    } else {  // topped up
      here.workers = limit;
      here.topped_up_at = never;
    }
  }

  void end(SmId sm, double now) {
    if (sms_.empty()) return;
    SmWorkers& here = sms_[index(sm)];
    here.free = here.free_at(now) + 1;
    here.freed_at = now;
    --here.workers;
  }

 private:
  static constexpr double never = std::numeric_limits<double>::infinity();

  struct SmWorkers {
    int workers = 0;  // at a block, or waiting for room
    int free = 0;     // that have just ended a block
    double freed_at = -1;
    double topped_up_at = never;

    int free_at(double now) const { return now == freed_at ? free : 0; }
  };

  double top_up_;  // nanoseconds; 0: workers come and go at once
  bool brought_ = false;
  std::vector<SmWorkers> sms_;
};

}  // namespace gpushare
