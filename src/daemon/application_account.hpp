// SPDX-License-Identifier: Apache-2.0
// Counts an application's jobs, for the status. Filled by the threads that end jobs, which wait for no Python code.
// Times are those of CLOCK_MONOTONIC, in nanoseconds.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>

#include "core/model/time_in_system.hpp"
#include "daemon/job_status.hpp"

namespace gpushare::daemon {

/// A point in time of CLOCK_MONOTONIC, which all processes share, in nanoseconds.
std::int64_t monotonic_now();

/// Upper bounds of the turnarounds that are counted together, in nanoseconds: from 10 us to 100 s, two per decade.
inline constexpr std::array<std::int64_t, 15> turnaround_bounds = {
    10'000,      30'000,      100'000,       300'000,       1'000'000,      3'000'000,      10'000'000,      30'000'000,
    100'000'000, 300'000'000, 1'000'000'000, 3'000'000'000, 10'000'000'000, 30'000'000'000, 100'000'000'000,
};

/// Jobs by turnaround: each counts at the first bound that it does not exceed, or at the end where it exceeds all.
using TurnaroundCounts = std::array<std::uint64_t, turnaround_bounds.size() + 1>;

/// How an application fares. Its jobs run one after the other, so their times alone add up.
struct ApplicationTotals {
  std::uint64_t unfinished = 0;
  std::uint64_t ended = 0;
  std::int64_t turnaround = 0;        ///< sum over the jobs that have ended
  TurnaroundCounts turnarounds{};     ///< the same jobs
  std::int64_t in_system = 0;         ///< with a job there (time_in_system.hpp)
  std::optional<double> alone = 0.0;  ///< nullopt: unknown

  /// Normalized turnaround; nullopt while no job has ended, or where a time alone is unknown.
  std::optional<double> ntt() const;
};

class ApplicationAccount {
 public:
  void submitted(std::int64_t now);
  /// `alone`: how long the job takes without other work on the device, in nanoseconds.
  void ended(std::int64_t submitted, std::int64_t now, JobStatus status, std::optional<double> alone);
  ApplicationTotals totals() const;

 private:
  mutable std::mutex mutex_;
  ApplicationTotals totals_;
  TimeInSystem<std::int64_t, std::int64_t> time_;
};

}  // namespace gpushare::daemon
