// SPDX-License-Identifier: Apache-2.0
// What applications with a floor really have of their speed alone. Forecasts and measured rates are of blocks side by
// side; an application also waits for its launches' way to the GPU and for last waves, and workers may be slower than
// the kernel as it was written. So whoever has had less than his floor is given more than that, until he has it.
#pragma once

#include <map>

#include "core/engine/event.hpp"

namespace gpushare {

class Arrears {
 public:
  /// Feed every event of a launch.
  void observe(const Event& event);
  /// The application has ended.
  void forget(ApplicationId application) { accounts_.erase(application); }

  /// Of the launch that `ended` tells of: nanoseconds that it takes alone, and its application's floor.
  void add(const Event& ended, double alone, double floor);

  /// The GPU is divided anew: what was before says nothing any more.
  void restart(Time now);

  /// By how much more than its floor an application is to be given: at least 1.
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
