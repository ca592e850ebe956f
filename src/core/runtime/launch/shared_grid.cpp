// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/launch/shared_grid.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gpushare {
namespace {

constexpr const char* failure_of_lost = "the launch on several devices that it waits for has failed";

}  // namespace

SharedGrid::SharedGrid(std::int64_t blocks, std::uint64_t claims, std::shared_ptr<const void> memory,
                       std::function<void()> opened)
    : blocks_(blocks), claims_(claims), memory_(std::move(memory)), opened_(std::move(opened)) {}

std::shared_ptr<GridPart> SharedGrid::add_part() {
  const std::scoped_lock lock(mutex_);
  PartState& added = parts_.emplace_back();
  added.number = parts_.size() - 1;
  added.must_leave = has_ended();
  return std::make_shared<GridPart>(shared_from_this(), added);
}

void SharedGrid::leave(std::size_t part) {
  const std::scoped_lock lock(mutex_);
  parts_[part].must_leave = true;
  if (parts_[part].wake) parts_[part].wake();
}

bool SharedGrid::is_open() const {
  const std::scoped_lock lock(mutex_);
  return opened_ == nullptr;
}

bool SharedGrid::is_over() const {
  const std::scoped_lock lock(mutex_);
  return is_over_;
}

bool SharedGrid::wait(Duration timeout) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, timeout, [this] { return is_settled(); });
}

bool SharedGrid::wait_for_end(std::size_t part, Duration timeout) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, timeout, [&] { return is_over_ || parts_[part].has_ended; });
}

std::optional<Duration> SharedGrid::took() const {
  const std::scoped_lock lock(mutex_);
  return is_over_ ? std::optional(took_) : std::nullopt;
}

std::optional<std::size_t> SharedGrid::lost_part() const {
  const std::scoped_lock lock(mutex_);
  return lost_;
}

void SharedGrid::when_ended(Ended ended) {
  std::unique_lock lock(mutex_);
  if (!is_settled()) return to_tell_.push_back(std::move(ended));
  const bool is_lost = lost_.has_value();
  lock.unlock();
  ended(is_lost ? failure_of_lost : "");
}

void SharedGrid::begin(PartState& part, std::function<void()> wake) {
  std::function<void()> opened;
  {
    const std::scoped_lock lock(mutex_);
    part.wake = std::move(wake);
    std::swap(opened, opened_);
    if (opened) begin_ = std::chrono::steady_clock::now();
  }
  if (opened) opened();
}

void SharedGrid::exhaust() {
  if (is_exhausted_.exchange(true, std::memory_order_acq_rel)) return;
  const std::scoped_lock lock(mutex_);
  wake_devices();
}

// A part that runs adds what it has done when it has returned. So the sum is all blocks only if none runs any more, and
// what they have written is in memory.
void SharedGrid::returned(PartState& part, std::int64_t done) {
  std::unique_lock lock(mutex_);
  part.done = done;
  std::int64_t sum = 0;
  for (const PartState& each : parts_) sum += each.done;
  if (has_ended() || sum < blocks_) return;
  is_over_ = true;
  took_ = std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - begin_);
  is_exhausted_ = true;  // workers that were told to leave have not found out
  tell_all(std::move(lock), "");
}

void SharedGrid::end(PartState& part) {
  std::unique_lock lock(mutex_);
  part.has_ended = true;
  part.waits_in_vain = false;
  changed_.notify_all();
  ask_whether_all_wait();
  if (lost_ && is_settled()) tell_all(std::move(lock), failure_of_lost);
}

void SharedGrid::drop(PartState& part) {
  std::unique_lock lock(mutex_);
  part.wake = nullptr;
  if (std::exchange(part.has_ended, true) || is_over_) return;
  if (!lost_) lost_ = part.number;
  for (PartState& each : parts_) each.must_leave = true;
  wake_devices();
  changed_.notify_all();
  if (is_settled()) tell_all(std::move(lock), failure_of_lost);
}

// What a launch has written and read may be freed when its end is told.
bool SharedGrid::is_settled() const {
  return is_over_ || (lost_ && std::ranges::all_of(parts_, &PartState::has_ended));
}

int SharedGrid::parts_at_work() const {
  const std::scoped_lock lock(mutex_);
  return static_cast<int>(std::ranges::count_if(parts_, &PartState::is_at_work));
}

// Each device takes what is left by its pace: its workers, and the time of a block there. What the others are to take
// is known as of their last polls.
std::int64_t SharedGrid::expected(PartState& part, const PartProgress& progress) {
  const std::scoped_lock lock(mutex_);
  part.progress = progress;
  if (part.must_leave || is_exhausted_ || has_ended()) return progress.claimed;
  const Duration usual = usual_block_time();
  const auto pace = [usual](int workers, Duration block_time) {
    return workers / nanoseconds(block_time > Duration{} ? block_time : usual);
  };
  std::int64_t left = blocks_;
  double others = 0;
  for (const PartState& each : parts_) {
    left -= each.progress.claimed;
    if (&each != &part && each.is_at_work()) others += pace(each.progress.workers, each.progress.block_time);
  }
  const double own = pace(progress.places, progress.block_time);
  const auto share = std::llround(static_cast<double>(left) * own / (own + others));
  return progress.claimed + std::max<std::int64_t>(share, 1);  // one may be left as long as none has found none
}

/// For parts where no block has ended.
Duration SharedGrid::usual_block_time() const {
  Duration longest(1);
  for (const PartState& each : parts_) longest = std::max(longest, each.progress.block_time);
  return longest;
}

bool SharedGrid::wait_in_vain(PartState& part) {
  const std::scoped_lock lock(mutex_);
  if (part.must_leave || part.has_ended || is_exhausted_ || has_ended()) return false;
  if (!std::exchange(part.waits_in_vain, true)) {
    ask_whether_all_wait();
    return false;
  }
  part.has_confirmed = all_wait();
  const auto is_settled = [](const PartState& each) { return each.has_confirmed || each.has_ended; };
  return std::ranges::all_of(parts_, is_settled) && !std::exchange(is_in_vain_, true);
}

bool SharedGrid::is_known_to_wait(const PartState& part) const {
  const std::scoped_lock lock(mutex_);
  return part.waits_in_vain;
}

void SharedGrid::go_on(PartState& part) {
  const std::scoped_lock lock(mutex_);
  if (std::exchange(part.waits_in_vain, false)) ask_whether_all_wait();
}

void SharedGrid::ask_whether_all_wait() {
  for (PartState& each : parts_) each.has_confirmed = false;
  if (all_wait()) wake_devices();
}

bool SharedGrid::all_wait() const {
  return std::ranges::any_of(parts_, &PartState::waits_in_vain) &&
         std::ranges::all_of(parts_, [](const PartState& each) { return each.waits_in_vain || each.has_ended; });
}

void SharedGrid::tell_all(std::unique_lock<std::mutex> lock, const std::string& failure) {
  wake_devices();
  changed_.notify_all();
  const std::vector<Ended> to_tell = std::exchange(to_tell_, {});
  lock.unlock();
  for (const Ended& each : to_tell) each(failure);
}

void SharedGrid::wake_devices() const {
  for (const PartState& each : parts_) {
    if (each.wake) each.wake();
  }
}

}  // namespace gpushare
