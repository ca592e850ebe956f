// SPDX-License-Identifier: Apache-2.0
// How the end of a job gets back to the client that submitted it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace gpushare::daemon {

/// How a job has ended, for its client.
enum class JobStatus : std::uint16_t {
  Done = 0,
  Refused = 1,    ///< the command was impossible: a handle, a size
  Failed = 2,     ///< this job failed
  Withdrawn = 3,  ///< its application was cancelled
  Retryable = 4,  ///< something else failed, and this job with it
};

/// A point in time of CLOCK_MONOTONIC, which all processes share, in nanoseconds.
std::int64_t monotonic_now();

struct JobOutcome {
  JobStatus status = JobStatus::Done;
  std::int64_t started = 0;  ///< 0: never, or nobody knows
  std::int64_t ended = 0;    ///< 0: now
  std::string message{};     ///< for the user, where it is not Done
};

/// Where a client's completions go. Called from any thread; must not block.
class CompletionTarget {
 public:
  virtual ~CompletionTarget() = default;
  /// The job has ended. Called exactly once per job; does nothing once the client has gone.
  virtual void complete(std::uint64_t job, std::int64_t accepted, const JobOutcome& outcome) = 0;
};

/// The duty to say how a job has ended. Whoever drops it unsaid says that the job failed: no client waits for ever.
class JobReply {
 public:
  JobReply() = default;
  JobReply(std::shared_ptr<CompletionTarget> target, std::uint64_t job)
      : target_(std::move(target)), job_(job), accepted_(monotonic_now()) {}
  JobReply(JobReply&&) noexcept = default;
  JobReply& operator=(JobReply&& other) noexcept {
    std::swap(target_, other.target_);
    std::swap(job_, other.job_);
    std::swap(accepted_, other.accepted_);
    return *this;
  }
  ~JobReply() {
    if (is_owed()) complete({.status = JobStatus::Failed, .message = "the worker gave this job up"});
  }

  void complete(const JobOutcome& outcome) { std::exchange(target_, nullptr)->complete(job_, accepted_, outcome); }
  bool is_owed() const { return target_ != nullptr; }
  std::uint64_t job() const { return job_; }
  std::int64_t accepted() const { return accepted_; }

 private:
  std::shared_ptr<CompletionTarget> target_;
  std::uint64_t job_ = 0;
  std::int64_t accepted_ = 0;
};

}  // namespace gpushare::daemon
