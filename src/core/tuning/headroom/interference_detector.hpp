// SPDX-License-Identifier: Apache-2.0
// Detects applications that others delay: those with launches that took much longer than their shortest one.
// Turnarounds alone show that, so it holds for unprofiled kernels, too. Beside an application that is always active no
// launch may ever be short; so some launches of each application run on reserved SMs, which shows how short they can
// be.
#pragma once

#include <array>
#include <cstdint>
#include <map>

#include "core/engine/event.hpp"

namespace gpushare {

class InterferenceDetector {
 public:
  /// Feed every event.
  void observe(const Event& event);

  /// Are SMs to be reserved for the application's launches?
  bool needs_reserved_sms(ApplicationId application) const;

 private:
  struct Turnarounds {
    Time arrival{};
    std::int64_t launches = 0;  ///< that have ended
    Duration shortest = Duration::max();
    std::array<Duration, 2> longest{};  ///< the longest may have been an accident
  };
  std::map<ApplicationId, Turnarounds> applications_;  // that have not ended
};

}  // namespace gpushare
