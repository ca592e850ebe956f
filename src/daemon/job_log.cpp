// SPDX-License-Identifier: Apache-2.0
#include "daemon/job_log.hpp"

#include <algorithm>

namespace gpushare::daemon {

void JobLog::add(PastJob job) {
  const std::lock_guard lock(mutex_);
  if (jobs_.size() >= most_) jobs_.pop_front();
  jobs_.push_back(std::move(job));
}

std::vector<PastJob> JobLog::since(std::int64_t time) const {
  const std::lock_guard lock(mutex_);
  std::vector<PastJob> found;
  std::ranges::copy_if(jobs_, std::back_inserter(found), [&](const PastJob& job) { return job.ended >= time; });
  return found;
}

std::optional<double> ApplicationTotals::ntt() const {
  if (!alone || *alone <= 0) return std::nullopt;
  return static_cast<double>(busy) / *alone;
}

ApplicationAccount::ApplicationAccount(std::string name, std::shared_ptr<JobLog> log)
    : name_(std::make_shared<const std::string>(std::move(name))), log_(std::move(log)) {}

void ApplicationAccount::submitted(std::int64_t now) {
  const std::lock_guard lock(mutex_);
  if (totals_.unfinished++ == 0) since_ = now;
}

/// A job that was refused has never been one: nothing is kept of it.
void ApplicationAccount::ended(const std::shared_ptr<const std::string>& kernel, std::int64_t submitted,
                               std::int64_t now, JobStatus status, std::optional<double> alone) {
  {
    const std::lock_guard lock(mutex_);
    --totals_.unfinished;
    if (status == JobStatus::Refused) return;
    ++totals_.ended;
    totals_.turnaround += now - submitted;
    totals_.busy += now - since_;
    since_ = now;
    const bool is_known = totals_.alone && alone && status == JobStatus::Done;
    totals_.alone = is_known ? std::optional(*totals_.alone + *alone) : std::nullopt;
  }
  if (log_ != nullptr) log_->add({name_, kernel, submitted, now, status});
}

ApplicationTotals ApplicationAccount::totals() const {
  const std::lock_guard lock(mutex_);
  return totals_;
}

}  // namespace gpushare::daemon
