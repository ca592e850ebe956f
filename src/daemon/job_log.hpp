// SPDX-License-Identifier: Apache-2.0
// What a worker remembers of jobs that have ended: the last ones, for traces, and sums per application, for the status.
// Filled by the threads that end jobs, which no Python code holds up.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "daemon/job_status.hpp"

namespace gpushare::daemon {

/// Times are those of CLOCK_MONOTONIC, in nanoseconds.
struct PastJob {
  std::shared_ptr<const std::string> application;
  std::shared_ptr<const std::string> kernel;
  std::int64_t submitted = 0;
  std::int64_t ended = 0;
  JobStatus status{};
};

class JobLog {
 public:
  static constexpr std::size_t most_jobs = 200'000;

  /// The oldest one is forgotten once there are `most`.
  explicit JobLog(std::size_t most = most_jobs) : most_(most) {}

  void add(PastJob job);
  /// Those that have ended since then.
  std::vector<PastJob> since(std::int64_t time) const;

 private:
  const std::size_t most_;
  mutable std::mutex mutex_;
  std::deque<PastJob> jobs_;
};

/// How an application fares. Its jobs run one after the other, so their times alone add up; while none is there, time
/// does not count.
struct ApplicationTotals {
  std::uint64_t unfinished = 0;
  std::uint64_t ended = 0;
  std::int64_t turnaround = 0;        ///< of those that have ended, summed
  std::int64_t busy = 0;              ///< with a job in the system, up to the end of the last one that has ended
  std::optional<double> alone = 0.0;  ///< nullopt: nobody knows

  /// Normalized turnaround; nullopt while no job has ended, or where a time alone is unknown.
  std::optional<double> ntt() const;
};

class ApplicationAccount {
 public:
  /// Ended jobs are told to the log, under this name.
  ApplicationAccount(std::string name, std::shared_ptr<JobLog> log);

  void submitted(std::int64_t now);
  /// `alone`: how long the job takes with nobody else there, in nanoseconds.
  void ended(const std::shared_ptr<const std::string>& kernel, std::int64_t submitted, std::int64_t now,
             JobStatus status, std::optional<double> alone);
  ApplicationTotals totals() const;

 private:
  const std::shared_ptr<const std::string> name_;
  const std::shared_ptr<JobLog> log_;
  mutable std::mutex mutex_;
  ApplicationTotals totals_;
  std::int64_t since_ = 0;  // when it last became busy, or its last job ended
};

}  // namespace gpushare::daemon
