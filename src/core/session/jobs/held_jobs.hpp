// SPDX-License-Identifier: Apache-2.0
// Jobs that wait for several things outside of their session: one is released when the last of these has happened, and
// cancelled when one has failed.
#pragma once

#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/session/session.hpp"

namespace gpushare {

/// For any thread.
class HeldJobs {
 public:
  /// The session outlives this, or close() comes before its end.
  explicit HeldJobs(Session& session) : session_(&session) {}

  /// The job, which was submitted as held, waits for so many things, at least one.
  void hold(JobId job, int things) {
    const std::scoped_lock lock(mutex_);
    left_[job] = things;
  }

  /// One of them has happened; with a reason: has failed.
  void happened(JobId job, const std::string& failure = {}) {
    const std::scoped_lock lock(mutex_);
    const auto found = left_.find(job);
    if (session_ == nullptr || found == left_.end()) return;  // the end, or another one has failed
    if (failure.empty() && --found->second > 0) return;
    left_.erase(found);
    if (!failure.empty() && session_->keeps_record()) failed_.push_back(job);
    session_->release(job, failure);
  }

  /// What happens from now on does nothing, and the session is used no more.
  void close() {
    const std::scoped_lock lock(mutex_);
    session_ = nullptr;
  }

  /// Those that something has failed for; none where the session keeps no record, as it may go on for ever.
  std::vector<JobId> failed() const {
    const std::scoped_lock lock(mutex_);
    return failed_;
  }

 private:
  Session* session_;  // nullptr: closed
  mutable std::mutex mutex_;
  std::unordered_map<JobId, int> left_;  // how many things each waits for
  std::vector<JobId> failed_;
};

}  // namespace gpushare
