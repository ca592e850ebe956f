// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/scheduler_watch.hpp"

#include <ctime>

namespace gpushare {
namespace {

Duration processor_time_of_this_thread() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return std::chrono::seconds(used.tv_sec) + Duration(used.tv_nsec);
}

}  // namespace

void SchedulerWatch::wake_up(Time now) {
  is_awake_ = true;
  latest_ = awake_since_ = now;
  processor_at_waking_ = processor_time_of_this_thread();
}

void SchedulerWatch::sleeps(Time now) {
  if (!is_awake_) return;
  without_processor_ += lost_since_awake(now);
  is_awake_ = false;
}

Duration SchedulerWatch::lost_since_awake(Time now) const {
  return std::max(Duration{}, now - awake_since_ - (processor_time_of_this_thread() - processor_at_waking_));
}

SchedulerDelays SchedulerWatch::until(Time now) const {
  return {.longest_pause = longest_pause_,
          .without_processor = without_processor_ + (is_awake_ ? lost_since_awake(now) : Duration{})};
}

}  // namespace gpushare
