// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/scheduler_watch.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "times.hpp"

namespace gpushare {
namespace {

using test::at_us;

TEST(SchedulerWatch, LongestPauseIsBetweenTwoPolls) {
  SchedulerWatch watch;
  for (const std::int64_t poll : {0, 10, 40, 45}) watch.polls(at_us(poll));
  EXPECT_EQ(watch.until(at_us(50)).longest_pause, std::chrono::microseconds(30));
}

TEST(SchedulerWatch, VoluntarySleepIsNoPause) {
  SchedulerWatch watch;
  watch.polls(at_us(0));
  watch.sleeps(at_us(5));
  watch.sleeps(at_us(6));  // it sleeps already
  watch.polls(at_us(1'000));
  EXPECT_EQ(watch.until(at_us(1'000)).longest_pause, Duration{});
}

TEST(SchedulerWatch, TimeWithoutProcessorCounts) {
  using Clock = std::chrono::steady_clock;
  SchedulerWatch watch;
  const auto start = Clock::now();
  const auto now = [start] { return Time(std::chrono::duration_cast<Duration>(Clock::now() - start)); };
  watch.polls(now());
  std::this_thread::sleep_for(std::chrono::milliseconds(5));  // as if the system ran something else
  EXPECT_GE(watch.until(now()).without_processor, std::chrono::milliseconds(4));
  watch.sleeps(now());
  const Duration lost = watch.until(now()).without_processor;
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(watch.until(now()).without_processor, lost);
}

}  // namespace
}  // namespace gpushare
