// SPDX-License-Identifier: Apache-2.0
// The error with which a session has failed, and its meaning for each job that had not ended: it may be to blame, had
// begun, or can be submitted again.
#pragma once

#include <exception>
#include <unordered_map>

#include "core/session/jobs/job_board.hpp"

namespace gpushare {

/// The state of a job when its session failed, in order of gravity.
enum class JobFate {
  NotRun,
  Begun,    ///< but it was not on the device at that moment
  Suspect,  ///< it was, and so were others: one of them is to blame
  Culprit   ///< it was, and no other job
};

class SessionFailure {
 public:
  SessionFailure() = default;
  /// No job has to do with it: all fail with it alike.
  explicit SessionFailure(std::exception_ptr cause) : cause_(cause), of_begun_(cause), of_not_run_(cause) {}
  /// `fates`: of those that had begun.
  SessionFailure(std::exception_ptr cause, std::exception_ptr of_begun, std::exception_ptr of_not_run,
                 std::unordered_map<JobId, JobFate> fates)
      : cause_(std::move(cause)),
        of_begun_(std::move(of_begun)),
        of_not_run_(std::move(of_not_run)),
        fates_(std::move(fates)) {}

  explicit operator bool() const { return cause_ != nullptr; }
  const std::exception_ptr& cause() const { return cause_; }
  /// For jobs that were not submitted any more.
  const std::exception_ptr& of_not_run() const { return of_not_run_; }

  JobFate fate_of(JobId job) const {
    const auto found = fates_.find(job);
    return found != fates_.end() ? found->second : JobFate::NotRun;
  }
  /// What the job fails with.
  const std::exception_ptr& error_of(JobId job) const {
    switch (fate_of(job)) {
      case JobFate::NotRun:
        return of_not_run_;
      case JobFate::Begun:
        return of_begun_;
      default:
        return cause_;
    }
  }

 private:
  std::exception_ptr cause_;
  std::exception_ptr of_begun_;
  std::exception_ptr of_not_run_;
  std::unordered_map<JobId, JobFate> fates_;
};

}  // namespace gpushare
