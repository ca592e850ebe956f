// SPDX-License-Identifier: Apache-2.0
// Returns the end of a job to the client that submitted it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "daemon/application_account.hpp"

namespace gpushare::daemon {

struct JobOutcome {
  JobStatus status = JobStatus::Done;
  std::int64_t started = 0;  ///< its first block, or the copy; 0: never, or unknown
  std::int64_t ended = 0;    ///< 0: now
  std::string message{};     ///< for the user, where it is not Done; may be empty where something else failed
};

/// The receiver of a client's completions. Called from any thread; must not block.
class CompletionTarget {
 public:
  virtual ~CompletionTarget() = default;
  /// The job has ended. Called exactly once per job; does nothing once the client has gone.
  virtual void complete(std::uint64_t job, std::int64_t accepted, const JobOutcome& outcome) = 0;
};

/// The account in which a job counts, and its duration alone.
struct JobAccount {
  std::shared_ptr<ApplicationAccount> application;
  std::optional<double> alone;  ///< its time without other work on the device, in nanoseconds
};

/// The duty to report the end of a job. Dropped without a report, it reports a failure: no client waits for ever.
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
    std::swap(account_, other.account_);
    return *this;
  }
  ~JobReply() {
    if (is_owed()) complete({.status = JobStatus::Failed, .message = "the worker gave this job up"});
  }

  /// Counts the job's arrival now, and its end later.
  void count_in(JobAccount account) {
    account_ = std::move(account);
    account_.application->submitted(accepted_);
  }

  void complete(const JobOutcome& outcome) {
    count(outcome);  // before the client is told, as it may ask for the status then
    std::exchange(target_, nullptr)->complete(job_, accepted_, outcome);
  }
  bool is_owed() const { return target_ != nullptr; }
  std::uint64_t job() const { return job_; }
  std::int64_t accepted() const { return accepted_; }

 private:
  void count(const JobOutcome& outcome) const {
    if (account_.application == nullptr) return;
    const std::int64_t now = outcome.ended != 0 ? outcome.ended : monotonic_now();
    account_.application->ended(accepted_, now, outcome.status, account_.alone);
  }

  std::shared_ptr<CompletionTarget> target_;
  std::uint64_t job_ = 0;
  std::int64_t accepted_ = 0;
  JobAccount account_;
};

}  // namespace gpushare::daemon
