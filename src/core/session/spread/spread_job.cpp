// SPDX-License-Identifier: Apache-2.0
#include "core/session/spread/spread_job.hpp"

#include <algorithm>
#include <utility>

#include "core/model/errors.hpp"

namespace gpushare {
namespace {

/// A session learns what it has failed with a moment after it has dropped its parts.
constexpr Duration patience_for_reason(60'000'000'000);

void require_running(const std::shared_ptr<Session>& session) {
  require(session != nullptr, "the session has been finished: open another one");
  if (const std::exception_ptr failure = session->failure()) std::rethrow_exception(failure);
}

}  // namespace

void SpreadJob::add_place(std::size_t device, SpreadPlace place) {
  const std::scoped_lock lock(mutex_);
  places_.insert_or_assign(device, std::move(place));
}

bool SpreadJob::has_place(std::size_t device) const {
  const std::scoped_lock lock(mutex_);
  return places_.contains(device);
}

JobId SpreadJob::submit(std::size_t home, const SpreadPlace& first, std::vector<std::size_t> devices, bool is_held,
                        bool only_idle) {
  const std::scoped_lock lock(mutex_);
  wanted_ = std::move(devices);
  only_idle_ = only_idle;
  grid_ = std::make_shared<SharedGrid>(blocks_, claims_, memory_, [weak = weak_from_this(), home] {
    const auto job = weak.lock();
    if (job == nullptr) return;
    const std::scoped_lock opening(job->mutex_);
    if (job->only_idle_) job->leave_out_busy_devices(home);
    job->go_where_wanted();
  });
  return submit_part(home, first, is_held);
}

void SpreadJob::when_ended(SharedGrid::Ended ended) {
  grid_->when_ended([weak = weak_from_this(), ended = std::move(ended)](const std::string& failure) {
    const auto job = failure.empty() ? weak.lock() : nullptr;
    if (job != nullptr) job->expect_ends();
    ended(failure);
  });
}

/// Before what waits for this job begins: devices are not to count as busy with it.
void SpreadJob::expect_ends() const {
  const std::scoped_lock lock(mutex_);
  for (const SubmittedPart& part : parts_) {
    if (const std::shared_ptr<Session> session = part.session.lock()) session->expect_end(part.job);
  }
}

JobId SpreadJob::submit_part(std::size_t device, const SpreadPlace& place, bool is_held) {
  parts_.push_back({.device = device, .session = place.session});
  std::shared_ptr<const DeviceCode> code = place.code(grid_->add_part());
  const std::shared_ptr<Session> session = place.session.lock();
  require_running(session);
  return parts_.back().job = session->submit(place.application, place.launch, std::move(code), is_held);
}

void SpreadJob::leave_out_busy_devices(std::size_t home) {
  std::erase_if(wanted_, [&](std::size_t device) {
    const std::shared_ptr<Session> session = places_.contains(device) ? places_.at(device).session.lock() : nullptr;
    return device != home && (session == nullptr || !session->is_idle());
  });
}

/// The new ones first: they may begin before the others have left.
void SpreadJob::go_where_wanted() {
  try {
    for (const std::size_t device : wanted_) {
      const auto is_there = [device](const SubmittedPart& part) { return part.device == device && !part.is_leaving; };
      if (std::ranges::none_of(parts_, is_there)) submit_part(device, places_.at(device), false);
    }
  } catch (...) {
    refusal_ = std::current_exception();  // the part that nothing took is lost, and with it the grid
  }
  for (std::size_t part = 0; part < parts_.size(); ++part) {
    if (parts_[part].is_leaving || std::ranges::find(wanted_, parts_[part].device) != wanted_.end()) continue;
    parts_[part].is_leaving = true;
    grid_->leave(part);
  }
}

bool SpreadJob::move(std::vector<std::size_t> devices) {
  const std::scoped_lock lock(mutex_);
  if (grid_->is_over() || grid_->lost_part()) return false;
  for (const std::size_t device : devices) require_running(places_.at(device).session.lock());
  wanted_ = std::move(devices);
  only_idle_ = false;
  if (grid_->is_open()) go_where_wanted();
  return true;
}

std::vector<std::size_t> SpreadJob::devices() const {
  const std::scoped_lock lock(mutex_);
  return wanted_;
}

bool SpreadJob::wait_for_leave(std::size_t device, Duration timeout) const {
  std::vector<std::size_t> there;
  {
    const std::scoped_lock lock(mutex_);
    for (std::size_t part = 0; part < parts_.size(); ++part) {
      if (parts_[part].device == device) there.push_back(part);
    }
  }
  const auto end = std::chrono::steady_clock::now() + timeout;
  return std::ranges::all_of(there, [&](std::size_t part) {
    const auto left = std::max(end - std::chrono::steady_clock::now(), std::chrono::steady_clock::duration{});
    return grid_->wait_for_end(part, std::chrono::duration_cast<Duration>(left));
  });
}

bool SpreadJob::wait(Duration timeout) const {
  if (!grid_->wait(timeout)) return false;
  if (!grid_->is_over()) fail();
  expect_ends();
  return true;
}

void SpreadJob::fail() const {
  SubmittedPart lost;
  {
    const std::scoped_lock lock(mutex_);
    if (refusal_) std::rethrow_exception(refusal_);
    lost = parts_[grid_->lost_part().value()];
  }
  if (const std::shared_ptr<Session> session = lost.session.lock()) session->wait(lost.job, patience_for_reason);
  throw DeviceError("the session of a device ended before its part of the launch did");
}

}  // namespace gpushare
