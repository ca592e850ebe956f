// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/drain_requests.hpp"

#include <algorithm>
#include <utility>

namespace gpushare {
namespace {

/// No drain is taken back so often: for callers that have to go on without one.
constexpr auto never = ~std::uint64_t{0};

thread_local std::vector<const DrainRequests*> asked_by_this_thread;  // of several GPUs, at most once each

}  // namespace

DrainRequests::Drain::~Drain() {
  if (requests_ != nullptr) requests_->leave(taken_back_);
}

Drain DrainRequests::ask() {
  std::unique_lock lock(mutex_);
  const bool holds_one = std::ranges::find(asked_by_this_thread, this) != asked_by_this_thread.end();
  if (would_wait_for_itself() || holds_one) return {};
  if (is_unused()) return take_at_once(std::move(lock));
  asked_by_this_thread.push_back(this);
  const std::uint64_t taken_back = taken_back_;
  ++waiting_;
  const bool is_over =
      changed_.wait_for(lock, patience_, [&, begun = begun_] { return begun_ != begun || taken_back_ != taken_back; });
  if (!is_over) {
    --waiting_;
    return {*this, never};
  }
  lock.unlock();
  free_left();
  return {*this, taken_back};
}

Drain DrainRequests::take_at_once(std::unique_lock<std::mutex> lock) {
  asked_by_this_thread.push_back(this);
  ++having_;
  const std::uint64_t taken_back = taken_back_;
  lock.unlock();
  free_left();
  return {*this, taken_back};
}

void DrainRequests::free(std::function<void()> action) {
  {
    const std::scoped_lock lock(mutex_);
    if (would_wait_for_itself()) return left_.push_back(std::move(action));
  }
  const Drain drain = ask();
  action();
}

void DrainRequests::free_left() {
  std::unique_lock lock(mutex_);
  const std::vector<std::function<void()>> left = std::exchange(left_, {});
  lock.unlock();
  for (const auto& action : left) action();
}

void DrainRequests::leave(std::uint64_t taken_back) {
  std::erase(asked_by_this_thread, this);
  const std::scoped_lock lock(mutex_);
  if (taken_back == taken_back_) --having_;
}

bool DrainRequests::begin_use() {
  if (is_awaited_ && having_ > 0) return false;
  const std::scoped_lock lock(mutex_);
  user_ = std::this_thread::get_id();
  is_awaited_ = having_ > 0;
  is_used_ = !is_awaited_;
  return is_used_;
}

void DrainRequests::end_use() {
  const std::scoped_lock lock(mutex_);
  is_used_ = is_awaited_ = false;
  having_ += waiting_.exchange(0);
  ++begun_;
  changed_.notify_all();
}

void DrainRequests::take_back() {
  const std::scoped_lock lock(mutex_);
  ++taken_back_;
  waiting_ = having_ = 0;
  changed_.notify_all();
}

}  // namespace gpushare
