// SPDX-License-Identifier: Apache-2.0
// The time that an application's host spends between issuing two operations. The default is none: an operation starts
// when the one before it has ended.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "core/model/units.hpp"

namespace gpushare {

struct HostPace {
  /// The host works for so long between issuing the operation before (at first: its start) and issuing this one.
  Duration host{};
  /// Set: the host waits for the end of the operation before, and then works for so long before it issues this one.
  std::optional<Duration> after{};
  /// The device leaves at least so much time between the end of the operation before and the start of this one.
  Duration gap{};
  friend bool operator==(const HostPace&, const HostPace&) = default;
};

/// The progress of each application's host.
class HostTimes {
 public:
  explicit HostTimes(std::size_t applications) : issued_(applications) {}

  /// The application's first operation may be issued.
  void start(ApplicationId application, Time now) { issued_[index(application)] = now; }

  /// The time at which the operation may start; the one before it ended (or the application started) at `end`.
  Time ready(ApplicationId application, const HostPace& pace, Time end) {
    Time& issued = issued_[index(application)];
    issued += pace.host;
    if (pace.after) issued = std::max(issued, end) + *pace.after;
    return std::max(issued, end + pace.gap);
  }

 private:
  std::vector<Time> issued_;
};

}  // namespace gpushare
