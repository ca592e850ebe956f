// SPDX-License-Identifier: Apache-2.0
#include "daemon/port/port_jobs.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace gpushare::daemon {

void PortJobs::end(JobNumber job, JobResult result) {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return;
  found->second.result = std::move(result);
  if (collects_ends_) ended_.push_back(job);
}

bool PortJobs::is_over(JobNumber job) const {
  const auto found = jobs_.find(job);
  return found == jobs_.end() || found->second.result;
}

const JobResult* PortJobs::result(JobNumber job) const {
  const auto found = jobs_.find(job);
  return found != jobs_.end() && found->second.result ? &*found->second.result : nullptr;
}

void PortJobs::begin_wait(JobNumber job) {
  if (const auto found = jobs_.find(job); found != jobs_.end()) ++found->second.waiting;
}

void PortJobs::end_wait(JobNumber job, bool is_over) {
  const auto found = jobs_.find(job);
  if (found != jobs_.end()) found->second.waiting = is_over ? 0 : found->second.waiting - 1;
}

void PortJobs::collect_ends() {
  if (std::exchange(collects_ends_, true)) return;
  for (const auto& [job, kept] : jobs_) {
    if (kept.result) ended_.push_back(job);
  }
}

void PortJobs::take_ended(std::vector<EndedJob>& taken) {
  std::erase_if(ended_, [&](JobNumber job) {
    const auto found = jobs_.find(job);
    if (found == jobs_.end()) return true;  // forgotten
    if (found->second.waiting > 0) return false;
    taken.push_back({job, std::move(*found->second.result), found->second.owner});
    jobs_.erase(found);
    return true;
  });
}

void PortJobs::leave(std::vector<EndedJob> ended) { std::ranges::move(ended, std::back_inserter(left_)); }

std::vector<EndedJob> PortJobs::take_left() { return std::exchange(left_, {}); }

std::vector<EndedJob> PortJobs::take_all() {
  std::vector<EndedJob> taken = take_left();
  for (auto& [job, kept] : jobs_) {
    JobResult lost{.is_lost = true};
    taken.push_back({job, kept.result ? std::move(*kept.result) : lost, kept.owner});
  }
  jobs_.clear();
  std::ranges::sort(taken, {}, &EndedJob::job);
  return taken;
}

}  // namespace gpushare::daemon
