// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/successors.hpp"

#include <gtest/gtest.h>

#include "fake_launches.hpp"

namespace gpushare {
namespace {

class SuccessorsTest : public testing::Test {
 protected:
  static constexpr Time now{};

  /// On the hardware behind its leader, which has ended.
  test::FakeLaunch& keep(int operation, int leader) {
    auto launch = hardware.make(test::FakeHardware::submission(operation, 0));
    launch->hand_to_hardware(0, now);
    successors.keep(std::move(launch), OperationId{leader});
    return hardware.launch(operation);
  }

  test::FakeHardware hardware;
  Successors successors;
};

TEST_F(SuccessorsTest, AnnouncedLaunchIsTakenOnce) {
  EXPECT_FALSE(successors.take_announced(ApplicationId{0}));
  successors.announce(test::FakeHardware::submission(1, 0));
  successors.announce(test::FakeHardware::submission(2, 0));  // instead of it
  EXPECT_EQ(successors.take_announced(ApplicationId{0})->id, OperationId{2});
  EXPECT_FALSE(successors.take_announced(ApplicationId{0}));
}

TEST_F(SuccessorsTest, QueuedLaunchIsTakenWhenItIsSubmitted) {
  keep(2, 1);
  successors.keep(nullptr, OperationId{3});
  EXPECT_EQ(successors.queued().size(), 1u);
  EXPECT_FALSE(successors.take_queued(OperationId{3}));
  EXPECT_EQ(successors.take_queued(OperationId{2})->id(), OperationId{2});
  EXPECT_TRUE(successors.queued().empty());
}

TEST_F(SuccessorsTest, DismissedLaunchIsForgottenOnceItHasLeft) {
  test::FakeLaunch& launch = keep(2, 1);
  EXPECT_FALSE(successors.are_off_hardware());
  successors.dismiss_behind(OperationId{1}, now);
  successors.dismiss_behind(OperationId{1}, now);  // a second time, without effect
  EXPECT_TRUE(successors.is_leaving_behind(OperationId{1}));
  EXPECT_TRUE(successors.is_leaving(OperationId{2}));
  EXPECT_FALSE(successors.collect(now));
  launch.end_grids(false);
  EXPECT_TRUE(successors.are_off_hardware());
  EXPECT_TRUE(successors.collect(now));
  EXPECT_FALSE(successors.any_leaving());
}

TEST_F(SuccessorsTest, QueuedOnesAreEvictedForADrain) {
  keep(2, 1);
  successors.evict_queued(now);
  EXPECT_EQ(hardware.log.back(), "evict 2");
}

TEST_F(SuccessorsTest, AllAreTaken) {
  keep(2, 1);
  keep(4, 3);
  successors.dismiss_behind(OperationId{3}, now);
  EXPECT_EQ(successors.take_all().size(), 2u);
  EXPECT_TRUE(successors.queued().empty());
  EXPECT_TRUE(successors.leaving().empty());
}

}  // namespace
}  // namespace gpushare
