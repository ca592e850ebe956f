// SPDX-License-Identifier: Apache-2.0
// The shortfall of applications against their promised minimum speeds. Predicted and measured rates are those of blocks
// side by side; an application also waits for its launches' way to the GPU and for last waves, and workers may be
// slower than the original kernel. So an application that has had less than its minimum speed is given more than that,
// until it has it.
#pragma once

#include <map>

#include "core/engine/event.hpp"

namespace gpushare {

class SlowdownDeficit {
 public:
  /// Feed every event of a launch.
  void observe(const Event& event);
  /// The application has ended.
  void forget(ApplicationId application) { accounts_.erase(application); }

  /// Books the launch of the event `ended`: nanoseconds that it takes alone, and its application's minimum speed.
  void add(const Event& ended, double alone, double min_speed);

  /// The allocation has changed: launches that arrived before say nothing any more.
  void restart(Time now);

  /// The multiple of its minimum speed that an application is to be given: at least 1.
  double factor(ApplicationId application) const;

 private:
  struct Account {
    Time arrival{};    // of the launch that runs
    double alone = 0;  // nanoseconds, of the latest launches
    double took = 0;
    double factor = 1;
  };

  std::map<ApplicationId, Account> accounts_;  // that have not ended
  Time since_{};
};

}  // namespace gpushare
