// SPDX-License-Identifier: Apache-2.0
// The part of ClientPort that reports ended jobs without waiting threads, and that ends the connection.
#include <algorithm>

#include "daemon/channel/peer_errors.hpp"
#include "daemon/client_port.hpp"

namespace gpushare::daemon {

void ClientPort::begin_to_tell() {
  if (std::exchange(tells_ended_, true)) return;
  for (const auto& [job, kept] : jobs_) {
    if (kept.completion) ended_.push_back(job);
  }
}

bool ClientPort::take_all_ended(std::vector<EndedJob>& told) {
  require_own_process();
  const std::lock_guard lock(mutex_);
  begin_to_tell();
  collect();
  rests_ = !std::exchange(has_ended_unled_, false) && left_.empty();
  if (!is_led_) announce_rest();
  collect();  // see ring.hpp
  told = std::exchange(left_, {});
  take_ended(told);
  return !rests_;
}

/// Leaves out the jobs with waiting threads.
void ClientPort::take_ended(std::vector<EndedJob>& told) {
  std::erase_if(ended_, [&](JobNumber job) {
    const auto found = jobs_.find(job);
    if (found == jobs_.end()) return true;  // forgotten
    if (found->second.waiting > 0) return false;
    told.push_back({job, std::move(*found->second.completion), found->second.owner});
    jobs_.erase(found);
    return true;
  });
}

void ClientPort::leave(std::vector<EndedJob> ended) {
  const std::lock_guard lock(mutex_);
  std::ranges::move(ended, std::back_inserter(left_));
}

bool ClientPort::hear() {
  if (doorbell_.hear()) return true;
  const std::lock_guard lock(mutex_);
  set_gone();
  return false;
}

std::vector<EndedJob> ClientPort::abandon() {
  if (fork_guard_.is_in_child()) return {};
  close();
  const std::lock_guard lock(mutex_);
  try {
    collect();
  } catch (const PeerViolation&) {  // then there is nothing more to read
  }
  std::vector<EndedJob> told = std::exchange(left_, {});
  for (auto& [job, kept] : jobs_) {
    JobCompletion lost{.is_lost = true};
    told.push_back({job, kept.completion ? std::move(*kept.completion) : lost, kept.owner});
  }
  jobs_.clear();
  std::ranges::sort(told, {}, &EndedJob::job);
  return told;
}

void ClientPort::forget(JobNumber job) {
  if (fork_guard_.is_in_child()) return;
  const std::lock_guard lock(mutex_);
  jobs_.erase(job);
}

std::size_t ClientPort::kept_jobs() const {
  require_own_process();
  const std::lock_guard lock(mutex_);
  return jobs_.size();
}

void ClientPort::close() {
  if (fork_guard_.is_in_child()) return;
  {
    const std::lock_guard lock(mutex_);
    set_gone();
  }
  doorbell_.hang_up();
}

}  // namespace gpushare::daemon
