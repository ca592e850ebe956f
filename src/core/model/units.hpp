// SPDX-License-Identifier: Apache-2.0
// Strong types for everything that could be mixed up: points in time, durations, bytes, and the ids of the
// things a policy talks about. Time is counted in whole nanoseconds from the start of a run, so that traces are
// exact and two runs can be compared byte by byte.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace gpushare {

using Duration = std::chrono::nanoseconds;

/// The clock of a run. It has no now(): only the device knows the time, and reports it with every event.
struct RunClock {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<RunClock>;
  static constexpr bool is_steady = true;
};
using Time = RunClock::time_point;

/// Nothing happens after this: far from where sums of nanoseconds would overflow.
constexpr Time latest_time{std::chrono::hours(200 * 365 * 24)};

struct Bytes {
  std::int64_t count = 0;
  friend auto operator<=>(const Bytes&, const Bytes&) = default;
};

struct Bandwidth {
  double bytes_per_second = 0;
  friend auto operator<=>(const Bandwidth&, const Bandwidth&) = default;
};

/// One of the devices of a run, in the order in which they were named.
enum class DeviceId : std::int32_t {};
enum class SmId : std::int32_t {};
enum class ApplicationId : std::int32_t {};
/// One operation (a launch or a copy) of one application; dense over the workload, in the order it lists them.
enum class OperationId : std::int32_t {};

template <typename Id>
constexpr std::size_t index(Id id) {
  return static_cast<std::size_t>(id);
}

constexpr double nanoseconds(Duration duration) { return static_cast<double>(duration.count()); }
constexpr double nanoseconds(Time time) { return nanoseconds(time.time_since_epoch()); }

}  // namespace gpushare
