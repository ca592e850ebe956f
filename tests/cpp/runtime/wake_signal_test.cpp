// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/wake_signal.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace gpushare {
namespace {

TEST(WakeSignal, IsTakenOnce) {
  WakeSignal signal;
  EXPECT_FALSE(signal.take());
  signal.wake();
  EXPECT_TRUE(signal.take());
  EXPECT_FALSE(signal.take());
}

TEST(WakeSignal, WakesAnotherThread) {
  WakeSignal signal;
  std::thread sleeper([&] { signal.wait_until(std::chrono::steady_clock::time_point::max()); });
  signal.wake();
  sleeper.join();
  EXPECT_TRUE(signal.take());
}

TEST(WakeSignal, SleepEndsAtItsDeadline) {
  WakeSignal signal;
  signal.wait_until(std::chrono::steady_clock::now());
  EXPECT_FALSE(signal.take());
}

}  // namespace
}  // namespace gpushare
