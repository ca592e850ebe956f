// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/event_buffer.hpp"

#include "core/model/errors.hpp"

namespace gpushare {
namespace {

constexpr int most_times_deferred = 3;

bool is_end(const Event& event) { return event.kind == EventKind::LaunchEnded || event.kind == EventKind::CopyEnded; }

}  // namespace

void EventBuffer::forget_if_all_taken() {
  if (next_ != events_.size()) return;
  events_.clear();
  next_ = 0;
}

Event EventBuffer::take() {
  GPUSHARE_EXPECT(!empty(), "an event is taken where there is one");
  Event event = events_[next_++];
  event.next_is_known = next_ < events_.size();
  forget_if_all_taken();
  const Time reported = advance_to(event.time);
  const bool is_group = event.kind == EventKind::BlockStarted || event.kind == EventKind::BlockEnded;
  if (is_group) event.started += reported - event.time;  // blocks last as long as they did
  event.time = reported;
  return event;
}

bool EventBuffer::are_due(Time time) {
  if (empty() || times_deferred_ < most_times_deferred) return false;
  if (!due_since_) due_since_ = time;
  return time - *due_since_ < longest_time_for_events_;
}

void EventBuffer::deferred() {
  due_since_.reset();
  ++times_deferred_;
}

void EventBuffer::hold_end_of(OperationId operation) {
  const auto pending = events_.begin() + static_cast<std::ptrdiff_t>(next_);
  const auto end = std::find_if(pending, events_.end(), [operation](const Event& event) {
    return event.kind == EventKind::LaunchEnded && event.operation == operation;
  });
  if (end == events_.end()) return;
  held_ends_.push_back(*end);
  events_.erase(end);
  forget_if_all_taken();
}

void EventBuffer::release_ends(Time time, const std::function<bool(OperationId)>& is_held) {
  std::erase_if(held_ends_, [&](const Event& end) {
    if (is_held(end.operation)) return false;
    events_.push_back(end);
    events_.back().time = std::max(end.time, time);
    return true;
  });
}

std::vector<OperationId> EventBuffer::unreported_ends() const {
  std::vector<OperationId> ends;
  for (const Event& event : waiting()) {
    if (is_end(event)) ends.push_back(event.operation);
  }
  for (const Event& end : held_ends_) ends.push_back(end.operation);
  return ends;
}

}  // namespace gpushare
