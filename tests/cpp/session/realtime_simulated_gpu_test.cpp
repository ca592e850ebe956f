// SPDX-License-Identifier: Apache-2.0
#include "core/session/realtime_simulated_gpu.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "core/model/errors.hpp"
#include "recorded_run.hpp"
#include "sample_workloads.hpp"

namespace gpushare {
namespace {

using namespace test;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

class RealtimeSimulatedGpuTest : public testing::Test {
 protected:
  /// A launch that has the device to itself.
  void launch(RealtimeSimulatedGpu& gpu, int number, std::int64_t blocks, Duration block_time) {
    operations_.emplace_back(launch_of(blocks, block_time.count()));
    gpu.submit({.id = operation(number), .application = ApplicationId{number}, .operation = &operations_.back()});
    gpu.apply({.shares = {{.launch = operation(number), .quota = Quota::everywhere(4)}}});
  }

  std::vector<Event> all_events(RealtimeSimulatedGpu& gpu) {
    std::vector<Event> events;
    while (const auto event = gpu.next_event(std::nullopt)) events.push_back(*event);
    return events;
  }

  std::deque<Operation> operations_;
};

TEST_F(RealtimeSimulatedGpuTest, TellsNothingBeforeItsTime) {
  RealtimeSimulatedGpu gpu(small_device(1), 1, 1.0);
  EXPECT_TRUE(gpu.is_idle());
  const auto begin = Clock::now();
  launch(gpu, 0, 8, 5ms);
  EXPECT_FALSE(gpu.is_idle());
  const std::vector<Event> events = all_events(gpu);
  EXPECT_GE(Clock::now() - begin, 10ms);
  EXPECT_TRUE(gpu.is_idle());
  EXPECT_EQ(events.back().kind, EventKind::LaunchEnded);
  EXPECT_EQ(events.back().time - events.front().time, 10ms);
}

TEST_F(RealtimeSimulatedGpuTest, TheSpeedIsAFactor) {
  RealtimeSimulatedGpu gpu(small_device(1), 1, 1000.0);
  const auto begin = Clock::now();
  launch(gpu, 0, 4, 10s);
  EXPECT_EQ(all_events(gpu).back().kind, EventKind::LaunchEnded);
  EXPECT_LT(Clock::now() - begin, 5s);
  EXPECT_GE(Clock::now() - begin, 10ms);
}

TEST_F(RealtimeSimulatedGpuTest, TimeGoesOnWhileNothingHappens) {
  RealtimeSimulatedGpu gpu(small_device(1), 1, 1.0);
  const Time before = gpu.now();
  std::this_thread::sleep_for(5ms);
  EXPECT_GE(gpu.now() - before, 5ms);
  launch(gpu, 0, 1, 1ms);
  const std::vector<Event> events = all_events(gpu);
  EXPECT_GE(events.front().time - before, 5ms);
}

TEST_F(RealtimeSimulatedGpuTest, TimeNeverPassesWhatHasNotBeenTold) {
  RealtimeSimulatedGpu gpu(small_device(1), 1, 1.0);
  launch(gpu, 0, 1, 1ms);
  ASSERT_EQ(gpu.next_event(std::nullopt)->kind, EventKind::BlockStarted);
  std::this_thread::sleep_for(3ms);
  const Time now = gpu.now();
  EXPECT_GE(gpu.next_event(std::nullopt)->time, now);
}

TEST_F(RealtimeSimulatedGpuTest, ADeadlineEndsTheWait) {
  RealtimeSimulatedGpu gpu(small_device(1), 1, 1.0);
  launch(gpu, 0, 1, 1h);
  ASSERT_TRUE(gpu.next_event(std::nullopt));
  const Time deadline = gpu.now() + 3ms;
  EXPECT_FALSE(gpu.next_event(deadline));
  EXPECT_GE(gpu.now(), deadline);
  EXPECT_LT(gpu.now(), deadline + 10s);
}

TEST_F(RealtimeSimulatedGpuTest, AnotherThreadCanWakeIt) {
  RealtimeSimulatedGpu gpu(small_device(1), 1, 1.0);
  launch(gpu, 0, 1, 1h);
  ASSERT_TRUE(gpu.next_event(std::nullopt));
  std::thread waker([&gpu] { gpu.wake(); });
  EXPECT_FALSE(gpu.next_event(std::nullopt));
  waker.join();
}

TEST_F(RealtimeSimulatedGpuTest, WhatIsWithdrawnEndsAtABlockBoundary) {
  RealtimeSimulatedGpu gpu(small_device(1), 1, 1.0);
  launch(gpu, 0, 1'000'000'000, 2ms);
  for (int block = 0; block < 4; ++block) ASSERT_TRUE(gpu.next_event(std::nullopt));
  gpu.withdraw(operation(0));
  gpu.withdraw(operation(7));  // never submitted
  const std::vector<Event> events = all_events(gpu);
  EXPECT_EQ(events.size(), 5U);
  EXPECT_EQ(events.back().kind, EventKind::LaunchEnded);
  EXPECT_EQ(ns(events.front().time), ns(events.front().started) + 2'000'000);
}

TEST_F(RealtimeSimulatedGpuTest, ASlowReaderDoesNotSpeedUpTheDevice) {
  RealtimeSimulatedGpu gpu(small_device(1), 1, 1.0);
  launch(gpu, 0, 4, 50ms);
  for (int block = 0; block < 4; ++block) ASSERT_TRUE(gpu.next_event(std::nullopt));
  ASSERT_EQ(all_events(gpu).size(), 5U);  // ended
  launch(gpu, 1, 4, 50ms);
  std::this_thread::sleep_for(100ms);  // nobody asks for what has long happened
  const auto begin = Clock::now();
  all_events(gpu);
  EXPECT_GE(Clock::now() - begin, 50ms);
}

TEST_F(RealtimeSimulatedGpuTest, TimePassesNothingAlsoWhereDoublesDoNotKnowEveryNanosecond) {
  constexpr Duration long_time(1LL << 55);
  RealtimeSimulatedGpu gpu(small_device(1), 1, 1e9);
  launch(gpu, 0, 1, long_time);
  all_events(gpu);
  launch(gpu, 1, 1, long_time);
  ASSERT_TRUE(gpu.next_event(std::nullopt));
  EXPECT_FALSE(gpu.next_event(gpu.now() + 1ms));
  std::this_thread::sleep_for(100ms);
  EXPECT_NO_THROW(launch(gpu, 2, 1, long_time));
  EXPECT_EQ(all_events(gpu).size(), 5U);
}

TEST_F(RealtimeSimulatedGpuTest, ItsTimeEndsBeforeItsNumbersDo) {
  RealtimeSimulatedGpu gpu(small_device(1), 1, 1e18);
  std::this_thread::sleep_for(1ms);
  EXPECT_EQ(gpu.now(), latest_time);
  launch(gpu, 0, 1, 1ms);
  EXPECT_THROW(all_events(gpu), InvalidInput);
}

}  // namespace
}  // namespace gpushare
