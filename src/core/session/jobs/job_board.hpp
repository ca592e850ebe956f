// SPDX-License-Identifier: Apache-2.0
// The jobs of a session that have ended, and how. Jobs are numbered in the order of their submission; what is kept of
// them is a byte each, from the oldest one that has not ended on, and a line for each that was cancelled. Of those the
// oldest are forgotten where a session goes on for ever: they then count as ended.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/model/errors.hpp"

namespace gpushare {

using JobId = std::uint64_t;

class JobBoard {
 public:
  static constexpr std::size_t all_reasons = std::numeric_limits<std::size_t>::max();
  explicit JobBoard(std::size_t most_reasons = all_reasons) : most_reasons_(most_reasons) {}

  JobId open() {
    jobs_.push_back(State::Open);
    ++unfinished_;
    return first_ + jobs_.size() - 1;
  }

  void end(JobId job) { close(job, State::Ended); }
  void cancel(JobId job, std::string reason) {
    reasons_.emplace(job, std::move(reason));
    cancelled_.push_back(job);
    if (cancelled_.size() > most_reasons_) {
      reasons_.erase(cancelled_.front());
      cancelled_.pop_front();
    }
    close(job, State::Cancelled);
  }

  std::uint64_t opened() const { return first_ + jobs_.size(); }
  std::size_t unfinished() const { return unfinished_; }

  /// It has nothing to do any more, and its end is about to be seen.
  void expect_end(JobId job) {
    if (!is_over(job)) ending_.insert(job);
  }
  /// Are all over, or about to be?
  bool is_idle() const { return unfinished_ == ending_.size(); }

  /// A thread waits for this job, until await_no_more().
  void await(JobId job) { awaited_.insert(job); }
  void await_no_more(JobId job) { awaited_.erase(awaited_.find(job)); }
  /// Does any thread wait for this job, for all jobs, or for the ends of watched jobs?
  bool is_awaited(JobId job) const { return unfinished_ == 0 || awaited_.contains(job) || !ends_of_watched_.empty(); }

  /// take_ends_of_watched() returns it once it is over.
  void watch(JobId job) {
    if (is_over(job)) return ends_of_watched_.push_back(job);
    watched_.insert(job);
  }
  bool has_ends_of_watched() const { return !ends_of_watched_.empty(); }
  std::vector<JobId> take_ends_of_watched() { return std::exchange(ends_of_watched_, {}); }
  /// All watched jobs count as over: the session will not end them.
  void give_up_watched() {
    ends_of_watched_.insert(ends_of_watched_.end(), watched_.begin(), watched_.end());
    watched_.clear();
  }

  bool is_over(JobId job) const { return job < first_ || jobs_[job - first_] != State::Open; }
  /// Throws Cancelled for a job that was.
  void require_not_cancelled(JobId job) const {
    const auto reason = reasons_.find(job);
    if (reason != reasons_.end()) throw gpushare::Cancelled(reason->second);
  }

 private:
  enum class State : std::uint8_t { Open, Ended, Cancelled };

  void close(JobId job, State how) {
    jobs_[job - first_] = how;
    --unfinished_;
    ending_.erase(job);
    if (watched_.erase(job) > 0) ends_of_watched_.push_back(job);
    for (; !jobs_.empty() && jobs_.front() != State::Open; ++first_) jobs_.pop_front();
  }

  JobId first_ = 0;  // of jobs_
  std::deque<State> jobs_;
  std::unordered_map<JobId, std::string> reasons_;
  std::unordered_multiset<JobId> awaited_;
  std::unordered_set<JobId> ending_;  // not over
  std::set<JobId> watched_;
  std::vector<JobId> ends_of_watched_;
  std::deque<JobId> cancelled_;  // those with a reason, the oldest first
  const std::size_t most_reasons_;
  std::size_t unfinished_ = 0;
};

}  // namespace gpushare
