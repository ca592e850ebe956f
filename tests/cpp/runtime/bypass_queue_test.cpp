// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/bypass_queue.hpp"

#include <gtest/gtest.h>

#include "fake_launches.hpp"
#include "times.hpp"

namespace gpushare {
namespace {

using test::at_us;

class BypassQueueTest : public testing::Test {
 protected:
  void admit(int operation) {
    queue.admit(OperationId{operation}, true, at_us(0));
    queue.wait(hardware.make(test::FakeHardware::submission(operation, operation)));
  }

  test::FakeHardware hardware;
  BypassQueue queue;
  BypassQueue::Launches launches;
};

TEST_F(BypassQueueTest, LaunchesBeginInOrderAsLongAsThereArePlaces) {
  for (int operation = 0; operation < admitted_at_once + 2; ++operation) admit(operation);
  queue.fill_places(launches, at_us(1));
  ASSERT_EQ(launches.size(), static_cast<std::size_t>(admitted_at_once));
  EXPECT_TRUE(queue.any_waits());
  EXPECT_EQ(launches.front()->id(), OperationId{0});
  queue.fill_places(launches, at_us(2));
  EXPECT_EQ(launches.size(), static_cast<std::size_t>(admitted_at_once));
  launches.erase(launches.begin());
  queue.fill_places(launches, at_us(3));
  EXPECT_EQ(launches.back()->id(), OperationId{admitted_at_once});
}

TEST_F(BypassQueueTest, OthersTakeNoPlaces) {
  for (int operation = 100; operation < 120; ++operation) {
    launches.push_back(hardware.make(test::FakeHardware::submission(operation, operation)));
  }
  admit(1);
  queue.fill_places(launches, at_us(1));
  EXPECT_EQ(launches.back()->id(), OperationId{1});
}

TEST_F(BypassQueueTest, WaitingLaunchCanBeTakenOut) {
  admit(1);
  admit(2);
  queue.take_out(OperationId{2}, launches);
  queue.take_out(OperationId{3}, launches);  // was never admitted
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_EQ(launches.front()->id(), OperationId{2});
  queue.take_out_all(launches);
  EXPECT_EQ(launches.size(), 2u);
  EXPECT_FALSE(queue.any_waits());
  EXPECT_FALSE(queue.has_admitted(OperationId{1}));
}

TEST_F(BypassQueueTest, LaunchIsPassingForALimitedTime) {
  admit(1);
  queue.fill_places(launches, at_us(10));
  GpuLaunch& launch = *launches.front();
  EXPECT_TRUE(queue.is_passing(launch, at_us(10'000)));  // has not begun
  launch.hand_to_hardware(0, at_us(10));
  EXPECT_TRUE(queue.is_passing(launch, at_us(209)));
  EXPECT_FALSE(queue.is_passing(launch, at_us(210)));
}

TEST_F(BypassQueueTest, DeviceSaysForHowLongALaunchIsPassing) {
  queue = BypassQueue({.longest_passing = Duration(5'000)});
  admit(1);
  queue.fill_places(launches, at_us(10));
  launches.front()->hand_to_hardware(0, at_us(10));
  EXPECT_TRUE(queue.is_passing(*launches.front(), at_us(14)));
  EXPECT_FALSE(queue.is_passing(*launches.front(), at_us(15)));
}

TEST_F(BypassQueueTest, LaunchThatHadBegunIsNotOnReservedSms) {
  queue.admit(OperationId{1}, false, at_us(0));
  EXPECT_TRUE(queue.has_admitted(OperationId{1}));
  EXPECT_FALSE(queue.is_on_reserved_sms(OperationId{1}));
  const auto launch = hardware.make(test::FakeHardware::submission(1, 1));
  EXPECT_FALSE(queue.is_passing(*launch, at_us(0)));
  EXPECT_FALSE(queue.forget(OperationId{1}));
  EXPECT_FALSE(queue.has_admitted(OperationId{1}));
}

TEST_F(BypassQueueTest, ForgettingSaysWhetherSmsWereReserved) {
  admit(1);
  EXPECT_TRUE(queue.is_on_reserved_sms(OperationId{1}));
  EXPECT_TRUE(queue.forget(OperationId{1}));
  EXPECT_FALSE(queue.forget(OperationId{1}));
}

}  // namespace
}  // namespace gpushare
