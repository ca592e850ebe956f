// SPDX-License-Identifier: Apache-2.0
// Events that a real device has seen and the engine has not taken yet.
//
// Time never goes back: no event is reported with a time before an earlier one, or before a time that the engine was
// told. And reporting shares the thread with polling. Deadlines and calls may follow each other faster than they can be
// served, as where a hundred launches arrive at once or a policy is slower than its wake-ups. So events are deferred
// for some of them, then served for a limited time, and then the GPU is polled: else ends of launches would go unseen,
// and each plan would share out residency among all of these.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/engine/event.hpp"
#include "core/model/device.hpp"

namespace gpushare {

class EventBuffer {
 public:
  explicit EventBuffer(const RuntimeTuning& tuning = {}) : longest_time_for_events_(tuning.time_for_events) {}

  bool empty() const { return events_.empty(); }
  /// What the device sees is appended here. Entries that were taken may still be among those before.
  std::vector<Event>& seen() { return events_; }

  /// The next event, with its mark of whether another one is known. Requires that there is one.
  Event take();

  /// Reading the clock may cost as much as a policy's decision: true for some events without reading it.
  bool may_take_without_clock() { return !empty() && since_clock_++ < events_per_clock; }
  void clock_was_read() { since_clock_ = 0; }

  /// Is it the events' time, though a deadline has passed or a call waits?
  bool are_due(Time time);
  /// The device has returned without an event.
  void deferred();
  /// All have been taken: none is deferred any more.
  void none_waits() { times_deferred_ = 0; }

  /// No event is reported before this time from now on.
  Time advance_to(Time time) { return last_time_ = std::max(last_time_, time); }

  /// Takes the end of this launch, if it has not been reported, out of the order.
  void hold_end_of(OperationId operation);
  /// Held ends that need not be held any more are events again, no earlier than `time`.
  void release_ends(Time time, const std::function<bool(OperationId)>& is_held);

  /// Operations with ends that have not been reported.
  std::vector<OperationId> unreported_ends() const;

 private:
  static constexpr int events_per_clock = 16;

  std::span<const Event> waiting() const { return std::span(events_).subspan(next_); }
  void forget_if_all_taken();

  Duration longest_time_for_events_;
  std::vector<Event> events_;
  std::size_t next_ = 0;  // in events_
  std::vector<Event> held_ends_;
  int since_clock_ = 0;
  int times_deferred_ = 0;
  std::optional<Time> due_since_;  // the events' time began then
  Time last_time_{};
};

}  // namespace gpushare
