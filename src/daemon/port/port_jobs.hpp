// SPDX-License-Identifier: Apache-2.0
// The jobs that a client has submitted through its port and not forgotten: which have ended, how, and of which ends the
// client has yet to be told. Not synchronised.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/job_status.hpp"

namespace gpushare::daemon {

using JobNumber = std::uint64_t;  ///< 1, 2, 3, ... of a port

/// How a job has ended. Times are those of CLOCK_MONOTONIC, in nanoseconds; 0: never started.
struct JobResult {
  JobStatus status{};
  bool is_lost = false;  ///< it had not ended when the connection did
  std::int64_t accepted = 0;
  std::int64_t started = 0;
  std::int64_t ended = 0;
  std::string message;
};

/// A job that has ended, or the end of which will never be known.
struct EndedJob {
  JobNumber job = 0;
  JobResult result;
  void* owner = nullptr;  ///< as it was submitted
};

class PortJobs {
 public:
  void add(JobNumber job, void* owner) { jobs_.emplace(job, KeptJob{.owner = owner}); }
  void forget(JobNumber job) { jobs_.erase(job); }
  std::size_t size() const { return jobs_.size(); }
  bool knows(JobNumber job) const { return jobs_.contains(job); }

  /// Nothing happens where the job has been forgotten.
  void end(JobNumber job, JobResult result);
  /// Has it ended, or been forgotten?
  bool is_over(JobNumber job) const;
  /// nullptr: it has not ended, or it has been forgotten.
  const JobResult* result(JobNumber job) const;

  /// A thread waits for the job: its end is not to be taken by another one.
  void begin_wait(JobNumber job);
  /// The wait is over. If the job is, too, all other waits for it are: they find it gone.
  void end_wait(JobNumber job, bool is_over);

  /// From now on ends are collected for take_ended(), earlier ones included.
  void collect_ends();
  /// Adds the ends of jobs for which no thread waits; these jobs are forgotten.
  void take_ended(std::vector<EndedJob>& taken);
  /// Ends that were taken but have to be told later, by take_left().
  void leave(std::vector<EndedJob> ended);
  bool has_left() const { return !left_.empty(); }
  std::vector<EndedJob> take_left();
  /// All jobs, in order; those that have not ended are lost. What was left comes first.
  std::vector<EndedJob> take_all();

 private:
  struct KeptJob {
    std::optional<JobResult> result;
    void* owner = nullptr;
    int waiting = 0;  // threads
  };

  std::unordered_map<JobNumber, KeptJob> jobs_;
  std::vector<JobNumber> ended_;  // among jobs_, once ends are collected
  std::vector<EndedJob> left_;
  bool collects_ends_ = false;
};

}  // namespace gpushare::daemon
